"""What py4j logs of a broken connection does not reach stderr: jsdoctor reports the failure once itself."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

BREAKS = """
import sys
from py4j.java_gateway import GatewayClient, GatewayParameters
from jsdoctor.collect.logs.spark.gateway import quiet_py4j

if sys.argv[2] == "quiet":
    quiet_py4j()
client = GatewayClient(gateway_parameters=GatewayParameters(port=int(sys.argv[1])))
print(client.send_command("c\\n", retry=False))
"""


def broken_connection(how: str) -> subprocess.CompletedProcess[str]:
    """A process that talks to a JVM whose reply is cut and is no text."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def respond() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"\xff\xfe\n")

        thread = threading.Thread(target=respond, daemon=True)
        thread.start()
        command = [sys.executable, "-c", BREAKS, str(server.getsockname()[1]), how]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        thread.join(10)
    assert done.stdout == "x\n", done.stderr
    return done


def test_py4j_prints_a_traceback_by_itself() -> None:
    assert "Traceback" in broken_connection("loud").stderr


def test_jsdoctor_keeps_it_off_stderr() -> None:
    assert broken_connection("quiet").stderr == ""

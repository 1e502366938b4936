"""Real Sparks on loopback: a standalone cluster of a master and two workers, and a Connect server."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
_UP_IN_S = 90.0
_QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n
"""


def bare_python(directory: Path) -> Path:
    """A Python like this one, with every library of it, but without jsdoctor."""
    environment = directory / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", environment], check=True)
    python = environment / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    ours = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    theirs = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    # A path in a .pth file is searched, but the .pth files in it are not read: the editable jsdoctor stays unseen.
    (Path(theirs) / "libraries.pth").write_text(f"{ours}\n", encoding="utf-8")
    done = subprocess.run([python, "-I", "-c", "import jsdoctor"], capture_output=True, check=False)
    assert done.returncode != 0
    return python


def free_port() -> int:
    """A port on loopback that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def standalone(directory: Path) -> Iterator[str]:
    """A master and two workers with a core each. Yields the address of the master."""
    port = free_port()
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    address = f"spark://127.0.0.1:{port}"
    with contextlib.ExitStack() as running:
        running.enter_context(_spark(master, directory / "master"))
        _wait_for(port)
        for number in (1, 2):
            place = directory / f"worker-{number}"
            worker = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0"]
            worker += ["--cores", "1", "--memory", "1g", "--work-dir", str(place), address]
            running.enter_context(_spark(worker, place))
        yield address


@contextlib.contextmanager
def connect_server(directory: Path, python: Path) -> Iterator[str]:
    """A Connect server with two cores, whose workers run `python`. Yields its address."""
    port = free_port()
    settings = {
        "spark.master": "local[2]",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(directory),
    }
    command = ["org.apache.spark.deploy.SparkSubmit"]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with _spark(command, directory / "connect", PYSPARK_PYTHON=str(python)):
        _wait_for(port)
        yield f"sc://127.0.0.1:{port}"


@contextlib.contextmanager
def _spark(arguments: Sequence[str], place: Path, **variables: str) -> Iterator[None]:
    place.mkdir(parents=True, exist_ok=True)
    configuration = place / "conf"
    configuration.mkdir()
    (configuration / "log4j2.properties").write_text(_QUIET, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
    ours = {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(configuration)}
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(SPARK_HOME / "bin" / "spark-class"), *arguments],
            env={**clean, **ours, **variables},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=place,
            process_group=0,
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait_for(port: int) -> None:
    give_up = time.monotonic() + _UP_IN_S
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert time.monotonic() < give_up, f"nothing came up on port {port}"
        time.sleep(0.1)

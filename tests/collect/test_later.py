"""nats-py imports aiohttp where it is installed; a run without WebSocket does not load it."""

import subprocess
import sys

import pytest

pytest.importorskip("aiohttp")

_PROGRAM = """
import sys
from jsdoctor.collect.connect.later import import_later
import_later("aiohttp")
import_later("no-such-package")
from importlib.util import find_spec
assert find_spec("aiohttp") is not None
import nats.aio.transport as transport
assert "aiohttp.client" not in sys.modules, "loaded by nats-py"
assert "no-such-package" not in sys.modules
session = transport.aiohttp.ClientSession
import aiohttp
import aiohttp.client
assert aiohttp.ClientSession is session is aiohttp.client.ClientSession
import_later("aiohttp")
assert sys.modules["aiohttp"] is aiohttp, "what is loaded stays"
"""


def test_a_package_is_loaded_when_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

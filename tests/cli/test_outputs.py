"""Where a report goes, and what becomes of the exit code there."""

import json
import os
import subprocess
import sys
from pathlib import Path


def test_the_exit_code_is_that_of_the_report_when_the_reader_is_gone(tmp_path: Path) -> None:
    log = "[7] 2026/11/21 10:00:05.000000 [ERR] Shard 5 has no keeper\n"
    (tmp_path / "n1.log").write_text(log)
    words = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "--logs", "n1.log", "--fail-on", "warning"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(words, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "n1.log").write_text("[7] 2026/11/21 10:00:05.000000 [ERR] Shard 5 has no keeper\n")
    with subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE) as reader:
        words = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "n1.log", "-o", "json=pipe", "--exit-zero"]
        subprocess.run(words, cwd=tmp_path, check=True, timeout=60, capture_output=True)
        written, _ = reader.communicate(timeout=60)
    assert json.loads(written)["schema"] == "jsdoctor.report/v1"
    assert (tmp_path / "pipe").is_fifo()

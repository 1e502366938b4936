"""`jsdoctor demo` finds every fault that it plants, and leaves nothing behind."""

import re
from pathlib import Path

import pytest

from jsdoctor.demo.faults import FAULTS
from tests.cli.invoke import jsdoctor


@pytest.mark.real
def test_every_planted_fault_is_found(tmp_path: Path) -> None:
    done = jsdoctor("demo", cwd=tmp_path, env={"TMPDIR": str(tmp_path), "COLUMNS": "120"})
    assert done.returncode == 0, done.stderr
    for fault in FAULTS:
        assert re.search(rf"\b{fault.code}\b", done.stdout), fault
        assert f" {fault.subject}" in done.stdout, fault
    assert list(tmp_path.iterdir()) == []

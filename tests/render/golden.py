"""Golden files: what a renderer wrote once and a person looked at.

After a change that is meant: `JSDOCTOR_UPDATE_GOLDEN=1 pytest tests/render`, then read the diff.
"""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def assert_golden(name: str, written: str) -> None:
    """The text is the content of that golden file, to the byte."""
    path = FOLDER / name
    if os.environ.get("JSDOCTOR_UPDATE_GOLDEN"):
        path.write_bytes(written.encode())
    assert path.exists(), f"there is no {path}; write it with JSDOCTOR_UPDATE_GOLDEN=1"
    assert written == path.read_bytes().decode(), f"{path} differs; JSDOCTOR_UPDATE_GOLDEN=1 accepts the new text"

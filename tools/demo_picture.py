"""The picture of the README: `jsdoctor demo` as a terminal shows it. `python -m tools.demo_picture` writes it."""

from __future__ import annotations

import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "demo.svg"
_WIDTH = 100
_WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""They would be fetched from elsewhere by whoever opens the picture."""


def main() -> None:
    """Run the demo and draw what it prints, with a context of a plain name in place of its temporary file."""
    done = subprocess.run(
        [sys.executable, "-m", "jsdoctor", "demo", "--color", "always"], capture_output=True, text=True, check=False
    )
    shown = re.sub(r"--context \S+/(\w+)\.json", r"--context \1", done.stdout).strip()
    console = Console(record=True, width=_WIDTH, file=StringIO())
    console.print(Text.from_ansi(f"$ jsdoctor demo\n{shown}"))
    PICTURE.parent.mkdir(exist_ok=True)
    drawn = console.export_svg(title="jsdoctor demo", unique_id="demo")
    PICTURE.write_text(_WEB_FONTS.sub("", drawn), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The manual pages are what the commands say of themselves."""

from __future__ import annotations

from pathlib import Path

from tools.man_pages import MAN, write


def test_they_are_as_the_commands_are(tmp_path: Path) -> None:
    write(tmp_path)
    assert {page.name: page.read_text() for page in tmp_path.glob("*.1")} == {
        page.name: page.read_text() for page in MAN.glob("*.1")
    }, "run `make man`"


def test_there_is_one_for_each_command() -> None:
    assert {"jsdoctor.1", "jsdoctor-check.1", "jsdoctor-fix.1", "jsdoctor-baseline-write.1"} <= {
        page.name for page in MAN.glob("*.1")
    }


def test_a_page_lists_the_options_of_its_command() -> None:
    page = (MAN / "jsdoctor-check.1").read_text()
    assert all(option in page for option in (r"\-\-select\fP RULE", r"\-\-bundle\fP FILE", r"\-\-format\fP"))

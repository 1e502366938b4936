"""The prose of the project keeps to the word list, and the list is the one of docs/style.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.comments import comments
from tests.docs.messages import messages
from tests.docs.prose import (
    ROOT,
    Passage,
    Word,
    complaints,
    files,
    help_texts,
    markdown,
    page,
    passages,
    sentences,
    words,
)

LISTED = words() + sentences()


def test_prose_uses_no_word_of_the_list() -> None:
    assert [line for passage in passages() for line in complaints(passage, LISTED)] == []


def test_the_list_is_that_of_the_style_guide() -> None:
    section = (ROOT / "docs" / "style.md").read_text("utf-8").partition("\n## Words\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)[2:]
    assert [(word.avoid, word.write) for word in words()] == rows


@pytest.mark.parametrize("word", LISTED, ids=lambda word: word.avoid)
def test_each_pattern_finds_its_examples_and_no_more(word: Word) -> None:
    assert all(any(word.occurrences(example)) for example in word.examples)
    assert not any(any(word.occurrences(example)) for example in word.fine)


def complaints_of(place: str, text: str) -> list[str]:
    return [line.partition(" in ")[0] for passage in page(place, text) for line in complaints(passage, LISTED)]


def test_a_place_is_a_line_even_where_a_paragraph_goes_over_several() -> None:
    text = "# Title\n\nA stream\nthat was made\nanew. A server\nthat stands\nstill.\n"
    assert complaints_of("docs/a.md", text) == ["docs/a.md:5: 'anew'", "docs/a.md:6: 'stands still'"]


def test_tables_lists_and_quotes_are_prose() -> None:
    text = "| a | b |\n| --- | --- |\n| fine | made anew |\n\n- made anew\n\n> made anew\n"
    assert complaints_of("docs/a.md", text) == [f"docs/a.md:{line}: 'anew'" for line in (3, 5, 7)]


def test_code_and_link_targets_are_no_prose() -> None:
    text = "A `interval` and [a link](house/spell.md).\n\n```\nspell\n```\n\n    indented spell\n\n<!-- spell -->\n"
    assert complaints_of("docs/a.md", text) == []


def test_texts_in_front_matter_are_prose_and_its_patterns_are_not() -> None:
    text = """+++
title = "A stream is made anew"
pattern = "spell"
examples = ["spell"]

[params.a]
help = "How long a spell lasts"

[because]
JSD101 = "A house."
+++

## What it means

A haul.
"""
    assert complaints_of("rules/x/JSD999.md", text) == [
        f"rules/x/JSD999.md:{line}: '{word}'" for line, word in ((2, "anew"), (7, "spell"), (10, "house"), (15, "haul"))
    ]


def test_help_texts_of_every_command_are_prose() -> None:
    texts = list(help_texts())
    assert {"jsdoctor check --help", "jsdoctor fix --apply", "jsdoctor baseline write --this-host"} <= {
        text.place for text in texts
    }
    assert all(text.text for text in texts)
    assert next(complaints(Passage("jsdoctor check --x", 0, "The gravest"), LISTED)).startswith("jsdoctor check --x: ")


def test_messages_in_code_are_prose_and_docstrings_are_not(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    code = [
        '"""A spell."""',
        "def one(name):",
        '    """Made anew."""',
        '    return f"{name} tells {name}, and " "hears", "spell"',
    ]
    file.write_text("\n".join(code))
    assert list(messages(file)) == [(4, "… tells …, and hears")]


def test_every_page_is_read() -> None:
    read = {file.relative_to(ROOT) for file in files()}
    assert {Path("README.md"), Path("CHANGELOG.md"), Path("CONTRIBUTING.md"), Path("docs/adr/README.md")} <= read
    assert {page.relative_to(ROOT) for page in ROOT.glob("rules/*/JSD*.md")} <= read
    assert len([file for file in read if "symptoms" in file.parts]) > 20


def test_docstrings_and_comments_are_prose(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        '"""A module.\n\nIts haul.\n"""\n\nSPELL = "#"  # a spell\n\n# Of two lines,\n# made anew.\n'
        'def house() -> None:\n    """A `interval`."""\n'
    )
    reported = [
        line.partition(" in ")[0]
        for start, text in comments(file)
        for passage in markdown("module.py", text)
        for line in complaints(passage._replace(line=passage.line + start - 1), LISTED)
    ]
    assert sorted(reported) == ["module.py:3: 'haul'", "module.py:6: 'spell'", "module.py:9: 'anew'"]

"""The word list is the one of docs/style.md, and its patterns find what they should."""

import re

import pytest

from tools.prose.words import ROOT, Word, sentences, words


def test_the_list_is_that_of_the_style_guide() -> None:
    section = (ROOT / "docs" / "style.md").read_text("utf-8").partition("\n## Words\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)[2:]
    assert [(word.avoid, word.write) for word in words()] == rows


@pytest.mark.parametrize("word", words() + sentences(), ids=lambda word: word.avoid)
def test_each_pattern_finds_its_examples_and_no_more(word: Word) -> None:
    assert all(any(word.occurrences(example)) for example in word.examples)
    assert not any(any(word.occurrences(example)) for example in word.fine)

"""docs/incidents.md: at least 150 different threads, each with an answer; every link to a rule or symptom resolves."""

import re
from pathlib import Path

PAGE = Path("docs/incidents.md")
_ROW = re.compile(r"^\| \[[^\]]+\]\((https://github\.com/[^)]+)\) \| ([^|]+) \| ([^|]+) \|$")


def _rows() -> list[tuple[str, str, str]]:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| [")]
    matches = [_ROW.match(line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if not match]
    return [(match[1], match[2], match[3]) for match in matches if match]


def test_each_thread_is_listed_once() -> None:
    threads = [thread for thread, _, _ in _rows()]
    assert len(threads) >= 150
    assert len(set(threads)) == len(threads)


def test_each_thread_has_an_answer_in_words_or_rules() -> None:
    assert [row for row in _rows() if not row[1].strip() or not row[2].strip()] == []


def test_every_link_to_a_page_of_the_project_leads_somewhere() -> None:
    targets = re.findall(r"\]\((\.\./rules/[^)]+)\)", PAGE.read_text("utf-8"))
    assert targets
    assert [target for target in targets if not (PAGE.parent / target).is_file()] == []


def test_the_stated_number_is_the_number_of_rows() -> None:
    stated = re.search(r"lists (\d+) incidents", PAGE.read_text("utf-8"))
    assert stated
    assert int(stated[1]) == len(_rows())

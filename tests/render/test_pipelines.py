"""GitHub, GitLab, Markdown, Nagios: bounded where people read, complete where machines do, safe from every name."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from markdown_it.token import Token

from jsdoctor.model.finding import Severity
from jsdoctor.model.report import Report
from jsdoctor.render.escape import printable
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.formats.nagios import MAX_BYTES
from jsdoctor.render.markdown_text import plain_text
from jsdoctor.render.options import RenderOptions
from tests.render import reports
from tests.render.strategies import options as any_options
from tests.render.strategies import reports as any_report
from tests.render.strategies import texts

COMMAND = re.compile(r"::(error|warning|notice) ((?:[a-z]+=[^:,]*)(?:,[a-z]+=[^:,]*)*)::(.*)")
HOSTILE = [
    "\n::error file=a::b",
    "::set-output name=x::y",
    "##[error]x",
    "a,b:c%0A",
    "| x | `y` | \\| z",
    "[a](https://evil.example) <script>alert(1)</script> ![i](x)",
    "@everyone $HOME$ *b* _i_ ~~s~~ &amp; #1 www.evil.example",
    "``` \\` \\",
    "x" * 3000,
]


def written(format_: str, report: Report, **settings: Any) -> str:
    return FORMATS[format_](report, RenderOptions(**settings))


def named(name: str) -> Report:
    """A report in which everything that comes from outside is this text."""
    gap = reports.unseen(name, name, name)
    return reports.report(
        results=[
            reports.stuck(reports.consumer(name, stream=name, account=name)),
            reports.logged(file=name or "x", text=name),
            reports.undecided(reports.LAG, reports.stream(name), name, name),
        ],
        gaps=[gap],
        headline=name,
    )


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Each line but the last, as the runner of GitHub Actions reads it."""

    def unescaped(value: str) -> str:
        for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            value = value.replace(code, character)
        return value

    parsed = []
    for line in text.splitlines()[:-1]:
        read = COMMAND.fullmatch(line)
        assert read, line
        properties = dict(pair.split("=", 1) for pair in read[2].split(","))
        parsed.append((read[1], {name: unescaped(value) for name, value in properties.items()}, unescaped(read[3])))
    return parsed


@pytest.mark.parametrize("name", HOSTILE)
def test_github_reads_one_command_per_line_whatever_the_name(name: str) -> None:
    text = written("github", named(name))
    parsed = commands(text)
    assert [level for level, _, _ in parsed] == ["error", "error", "warning", "notice"]
    assert parsed[1][1]["file"] == printable(name).removeprefix("./")
    assert parsed[1][1]["line"] == "4711"
    assert not text.splitlines()[-1].startswith(("::", "#"))


@given(report=any_report, options=any_options)
def test_github_reads_any_report(report: Report, options: RenderOptions) -> None:
    text = FORMATS["github"](report, options)
    commands(text)
    assert not text.splitlines()[-1].lstrip().startswith("::")


def test_github_lists_end_with_a_count() -> None:
    parsed = commands(written("github", reports.flood(1000)))
    assert len(parsed) == 6
    assert parsed[-1][2] == "and 995 more"


@given(report=any_report, options=any_options)
def test_gitlab_gets_every_finding_with_a_fingerprint_of_its_own(report: Report, options: RenderOptions) -> None:
    entries = json.loads(FORMATS["gitlab"](report, options))
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) >= len(report.failures())
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert entry["location"]["lines"]["begin"] >= 1
        assert entry["location"]["path"]
        assert all(isinstance(entry[key], str) and entry[key] for key in ("description", "check_name", "fingerprint"))


def test_gitlab_points_at_lines_and_names_what_is_in_no_file() -> None:
    night = reports.report(results=[reports.logged(), reports.stuck(reports.consumer("../../etc/passwd"))])
    places = [entry["location"] for entry in json.loads(written("gitlab", night))]
    assert {"path": "logs/n1.log", "lines": {"begin": 4711}} in places
    assert {"path": "jetstream/APP/ORDERS/..%2F..%2Fetc%2Fpasswd", "lines": {"begin": 1}} in places


def test_gitlab_recognises_the_same_finding_again() -> None:
    first = reports.report(results=[reports.stuck(reports.consumer("a"), limit=1000)])
    later = reports.report(results=[reports.stuck(reports.consumer("a"), limit=2000)])
    [entry], [other] = (json.loads(written("gitlab", report)) for report in (first, later))
    assert entry["fingerprint"] == other["fingerprint"] == first.results[0].fingerprint
    assert entry["description"] != other["description"]


def markdown(text: str) -> list[Token]:
    """As GitHub reads it: CommonMark, with tables, bare links and HTML."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def shown(token: Token) -> str:
    return "".join(child.content for child in token.children or () if child.type in ("text", "text_special"))


@given(text=texts)
def test_markdown_shows_text_as_it_is_in_a_cell(text: str) -> None:
    table = markdown(f"| a | b |\n| --- | --- |\n| x{plain_text(text)}x | <code>x{plain_text(text)}x</code> |\n")
    cells = [shown(token) for token in table if token.type == "inline"]
    expected = printable(text)
    if len(text) <= 900:
        assert cells == ["a", "b", f"x{expected}x", f"x{expected}x"]
    kinds = {child.type for token in table if token.type == "inline" for child in token.children or ()}
    assert kinds <= {"text", "text_special", "html_inline"}
    html = {child.content for token in table for child in token.children or () if child.type == "html_inline"}
    assert html <= {"<code>", "</code>", "<!-- -->"}


@pytest.mark.parametrize("name", [name for name in HOSTILE if name.isprintable()])
def test_markdown_keeps_its_shape_whatever_the_name(name: str) -> None:
    harmless, hostile = (
        [token.type for token in markdown(written("markdown", named(text))) if token.level == 0]
        for text in ("harmless", name)
    )
    assert hostile == harmless
    text = written("markdown", named(name))
    rows = [token for token in markdown(text) if token.type == "tr_open"]
    assert len(rows) == 8


def test_markdown_shows_no_command_that_it_would_have_to_change() -> None:
    text = written("markdown", named("a\nb"))
    assert not [token for token in markdown(text) if token.type == "fence"]
    assert "`--format json` has it" in text


def test_markdown_lists_end_with_a_count() -> None:
    text = written("markdown", reports.flood(1000))
    assert "and 995 more" in text
    assert len(text) < 5000


@given(report=any_report, options=any_options)
def test_nagios_reads_any_report(report: Report, options: RenderOptions) -> None:
    text = FORMATS["nagios"](report, options)
    assert len(text.encode()) <= MAX_BYTES
    first, *rest = text.splitlines()
    assert re.match(r"JSDOCTOR (OK|WARNING|CRITICAL|UNKNOWN) - ", first)
    assert first.count("|") == 1
    assert not any("|" in line or "<" in line for line in rest)
    for value in first.partition(" | ")[2].split():
        assert re.fullmatch(r"[a-z_]+=[0-9]+(\.[0-9]+)?s?;;;0", value), value


def test_nagios_counts_in_its_performance_data_what_it_cannot_list() -> None:
    text = written("nagios", reports.flood(1000), max_examples=0)
    assert " error=1000;;;0 " in text
    assert text.endswith("and more that has no room here\n")
    assert len(written("nagios", reports.flood(1000), quiet=True).splitlines()) == 1


@pytest.mark.parametrize(
    ("fail_on", "word"), [(Severity.ERROR, "WARNING"), (Severity.WARNING, "CRITICAL"), (Severity.INFO, "CRITICAL")]
)
def test_nagios_reports_what_fails_the_run(fail_on: Severity, word: str) -> None:
    text = written("nagios", reports.report(results=[reports.nearly_full()]), fail_on=fail_on)
    assert text.startswith(f"JSDOCTOR {word} - No errors: 1 warning.")

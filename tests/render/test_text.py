"""The text report: read by a tired person, on any width, fed by servers that nobody trusts."""

import re
import shlex
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from rich.cells import cell_len

from jsdoctor.model.finding import CLUSTER, Finding, Observation, Outcome, Severity
from jsdoctor.model.report import Report, Result, RuleVerdict
from jsdoctor.render.formats.text import render as render_text
from jsdoctor.render.options import RenderOptions
from tests.render import outages, reports
from tests.render.golden import assert_golden
from tests.render.strategies import options as any_options
from tests.render.strategies import reports as any_report

NIGHT, CALM = reports.busy(), reports.clean()
WIDTHS = (40, 80, 120, 200)
_INFO = "nats stream info ORDERS"


def text(report: Report, **settings: object) -> str:
    return render_text(report, RenderOptions(**settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("width", WIDTHS)
def test_looks_as_it_was_looked_at(width: int) -> None:
    assert_golden(f"busy-{width}.txt", text(NIGHT, width=width))


@pytest.mark.parametrize(
    ("name", "shown", "settings"),
    [
        ("busy-80-ascii", NIGHT, {"ascii_only": True}),
        ("busy-80-color", NIGHT, {"color": True}),
        ("busy-100-verbose", NIGHT, {"width": 100, "verbose": 1}),
        ("busy-quiet", NIGHT, {"quiet": True}),
        ("clean-80", CALM, {}),
        ("existing-80", reports.cases()["existing"], {}),
        ("flood-80", reports.flood, {}),
        ("hostile-80", reports.hostile(), {"verbose": 2}),
    ],
)
def test_looks_as_it_was_looked_at_with(
    name: str, shown: Report | Callable[[], Report], settings: dict[str, object]
) -> None:
    assert_golden(f"{name}.txt", text(shown() if callable(shown) else shown, **settings))


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize(("findings", "first"), [(1, "nats server list"), (6, "nats server list"), (200, _INFO)])
def test_each_incident_stands_once_and_the_verdict_is_last(findings: int, first: str, width: int) -> None:
    report = outages.outage(findings)
    assert len(report.failures()) == findings
    written = text(report, width=width)
    assert_golden(f"outage-{findings}-{width}.txt", written)
    assert written.split("Look: ", 1)[1].splitlines()[0] == first
    assert written.count("n3 has not been seen for") == 1
    assert re.search(r"\nWhy: .*\n\d problems? needs? action.*(\n  .*)?\.\n$", written)
    assert len(written.split()) < 180, "however many findings, a report is short"


def test_what_only_inspects_is_not_called_a_fix() -> None:
    written = text(outages.outage(200), width=200, max_examples=0, verbose=1)
    fixes = {line.split(": ", 1)[1] for line in written.splitlines() if line.lstrip().startswith("Fix (")}
    inspections = {line.split(": ", 1)[1] for line in written.splitlines() if line.lstrip().startswith("Look: ")}
    assert fixes
    assert all(" edit " in command for command in fixes)
    assert "nats server list" in inspections
    assert not any(" edit " in command and "--dry-run" not in command for command in inspections)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_fits_the_width_except_for_commands(width: int, ascii_only: bool) -> None:
    for verbose in (0, 1):
        for line in text(NIGHT, width=width, ascii_only=ascii_only, verbose=verbose).splitlines():
            assert cell_len(line) <= width or line.lstrip().startswith(("Fix (", "Look", "→ ", "-> ")), line
            assert line == line.rstrip()


@pytest.mark.parametrize("width", WIDTHS)
def test_commands_stay_in_one_piece(width: int) -> None:
    lines = text(NIGHT, width=width, max_examples=0, verbose=1).splitlines()
    printed = {line.split(": ", 1)[1] for line in lines if line.lstrip().startswith(("Fix (", "Look: "))}
    offered = {command for result in NIGHT.results if result.remedy for command in result.remedy.commands}
    assert printed == offered
    assert all(shlex.split(command)[0] == "nats" for command in printed)


def test_a_long_advice_that_is_a_command_stays_in_one_piece() -> None:
    command = "nats stream info PAYMENTS --context operations --server nats://n1.example:4222"
    gap = reports.unseen("PAYMENTS", "its leader did not respond within 5s", command)
    assert f"→ {command}\n" in text(reports.report(gaps=[gap]), width=60)


def test_without_colour_there_is_no_escape_sequence_and_with_it_the_words_are_the_same() -> None:
    coloured = text(NIGHT, color=True)
    assert "\x1b" not in text(NIGHT)
    assert "\x1b[1;31merror" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text(NIGHT)


@pytest.mark.parametrize("variable", ["NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "JUPYTER_COLUMNS"])
def test_the_environment_changes_nothing(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, coloured = text(NIGHT), text(NIGHT, color=True)
    monkeypatch.setenv(variable, "dumb" if variable == "TERM" else "40")
    assert text(NIGHT) == plain
    assert text(NIGHT, color=True) == coloured


def test_ten_thousand_findings_of_one_rule_are_a_few_lines() -> None:
    flood = text(reports.flood())
    assert len(flood.splitlines()) < 12
    assert "10,000 consumers of APP (S0 > c00000, S0 > c00010, S0 > c00020 and 9,997 more): " in " ".join(flood.split())
    assert "1 problem needs action: 10,000 consumers of APP." in flood
    verbose = text(reports.flood(), verbose=1)
    assert "and 9,995 more (APP > S1 1,000, APP > S2 1,000, APP > S3 1,000 and 7 more)" in verbose
    assert text(reports.flood(30), max_examples=0, verbose=1).count("Fix (safe)") == 30


def test_thousands_of_gaps_and_reasons_are_a_few_lines() -> None:
    alike = [reports.unseen(f"S{n}", "its leader did not respond", "") for n in range(5000)]
    unlike = [reports.unseen(f"T{n}", f"reason {n}", "") for n in range(5000)]
    undecided = [reports.undecided(reports.LAG, reports.consumer(f"c{n}"), f"reason {n}") for n in range(5000)]
    written = text(reports.report(results=undecided, gaps=[*alike, *unlike]), verbose=1)
    assert len(written.splitlines()) < 30
    assert "and 4,996 more gaps" in written
    assert "and 4,995 more reasons (JSD401)" in written


def test_a_gap_finding_without_its_gap_is_not_lost() -> None:
    _, finding = reports.silent_gap("PAYMENTS")
    assert "1. warning: APP > PAYMENTS: " in text(reports.report(results=[finding]))


def test_what_was_seen_and_not_decided_is_shown_without_verbose() -> None:
    waits = reports.undecided(
        reports.GROWING, reports.stream("ORDERS"), "50 of 50 wait, in the only sample", "run again"
    )
    seen = msgspec.structs.replace(waits, finding=msgspec.structs.replace(waits.finding, seen=True))
    written = text(reports.report(results=[seen], verdicts=[reports.not_evaluated(reports.GROWING, "", "")]))
    assert "Seen and not decided · 1 rule\n  JSD402 (" in written
    assert "ORDERS): 50 of 50 wait, in the only sample → run again\n" in written


def test_rules_that_passed_in_what_was_read_are_counted_apart() -> None:
    in_part = RuleVerdict(reports.META, Outcome.NOT_EVALUATED, {Outcome.PASS: 3}, "n3: no reply", "start it")
    written = text(reports.report(verdicts=[in_part, reports.not_evaluated(reports.GROWING, "one sample", "")]))
    counts = "1 passed in what was read; 1 needs more evidence (-v)."
    assert " ".join(written.split()).endswith(f"No problems found in what could be seen. {counts}")


@pytest.mark.parametrize(
    ("report", "ending"),
    [
        (
            reports.report(
                verdicts=[*reports.passed(reports.META), reports.not_evaluated(reports.GROWING, "one sample", "")]
            ),
            "No problems found. 1 rule passed; 1 needs more evidence (-v).",
        ),
        (
            reports.report(verdicts=reports.passed(reports.META), gaps=[reports.unseen("S", "no reply", "")]),
            "No problems found in what could be seen. 1 rule passed; 1 gap.",
        ),
        (
            reports.report(verdicts=[reports.not_evaluated(reports.GROWING, "one sample", "")]),
            "Nothing could be judged. 1 needs more evidence (-v).",
        ),
        (
            reports.report(results=[reports.crashed(reports.MIRROR)], verdicts=reports.passed(reports.META)),
            "No problems found in what could be seen. 1 rule passed; 1 failed to run.",
        ),
        (
            reports.report(verdicts=[RuleVerdict(reports.META, Outcome.NOT_APPLICABLE)]),
            "No rule applies to what was seen.",
        ),
        (
            reports.report(
                verdicts=reports.passed(reports.META), gaps=[reports.unseen("S", "no pcap", "", requested=False)]
            ),
            "No problems found. 1 rule passed.",
        ),
    ],
)
def test_never_calls_healthy_what_was_not_seen(report: Report, ending: str) -> None:
    assert text(report, width=200).splitlines()[-1] == ending


def test_a_subject_that_one_rule_could_not_judge_is_named_although_the_rule_found_something_elsewhere() -> None:
    subject = reports.consumer("audit")
    mixed = reports.report(
        results=[
            reports.stuck(reports.consumer("billing")),
            reports.undecided(reports.ACK_PENDING, subject, "its stream has no leader", "wait for an election"),
        ]
    )
    assert "JSD403 (1 consumer): its stream has no leader → wait for an election" in text(mixed, verbose=1)


def test_hostile_text_reaches_the_terminal_as_escapes_only() -> None:
    for settings in ({}, {"quiet": True}, {"verbose": 2}, {"ascii_only": True}):
        written = text(reports.hostile(), **settings)
        assert all(character.isprintable() or character == "\n" for character in written)
        assert r"a\x1b[31m\x07\nb[bold" in written


def test_rich_markup_in_names_is_text() -> None:
    coloured = text(reports.hostile(), color=True, width=200, verbose=1)
    assert "[bold red]c[/]" in coloured
    assert "nats consumer info [b]c[/b]" in coloured


def test_a_command_that_cannot_be_shown_as_it_is_is_not_shown() -> None:
    written = text(reports.hostile())
    assert "Look: (its names hold characters that cannot be shown here" in written
    assert "nats consumer info 'a" not in written


def test_ascii_output_is_ascii_and_spares_commands_it_would_change() -> None:
    umlaut = reports.stuck(reports.consumer("prüfung"))
    written = text(reports.report(results=[umlaut]), ascii_only=True)
    assert written.isascii()
    assert r"APP > ORDERS > pr\xfcfung: 1,000 of 1,000" in written
    assert "nats consumer edit" not in written


def test_quiet_is_not_silent_about_what_was_not_seen() -> None:
    gap = reports.unseen("S", "no reply", "")
    assert text(reports.report(gaps=[gap]), quiet=True) == "not seen APP > S: no reply\n"
    offered = reports.unseen("S", "no pcap", "", requested=False)
    assert text(reports.report(gaps=[offered]), quiet=True) == ""


def test_passes_that_were_kept_are_not_listed_as_findings() -> None:
    kept = Result(reports.META, Finding(subject=CLUSTER, outcome=Outcome.PASS, severity=Severity.CRITICAL))
    report = reports.report(results=[kept])
    assert "No problems found. 1 rule passed." in text(report)
    assert "healthy: cluster" in text(report, verbose=2)
    assert "healthy: cluster" not in text(report, verbose=1)


@given(report=any_report, options=any_options)
def test_any_report_is_rendered_and_harmless(report: Report, options: RenderOptions) -> None:
    written = (
        re.sub(r"\x1b\[[0-9;]*m", "", render_text(report, options)) if options.color else render_text(report, options)
    )
    assert all(character.isprintable() or character == "\n" for character in written)
    assert written.isascii() or not options.ascii_only


@pytest.mark.parametrize(
    ("line", "column", "drawn"),
    [
        ("  name: S", 3, ["      5 | name: S", "          ^"]),
        ("\tname: S", 2, ["      5 | name: S", "          ^"]),
        ("a: {日本: 1, b: 2}", 12, ["      5 | a: {日本: 1, b: 2}", "                       ^"]),
        ("  name: S", 5, ["      5 | name: S"]),
        (
            "x" * 90 + " b: 2 " + "y" * 90,
            92,
            ["      5 | …xxxxxxxxxxx b: 2 yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…", " " * 23 + "^"],
        ),
    ],
    ids=["indented", "tab", "wide", "within a word", "long"],
)
def test_the_line_of_a_file_has_a_caret(line: str, column: int, drawn: list[str]) -> None:
    """Within the width, under the place; none where no word begins."""
    seen = Observation(source="s.yaml", path=f"line 5, column {column}", value="b")
    report = reports.report(results=[Result(reports.META, Finding(subject=CLUSTER, evidence=(seen,)))])
    lines = text(report, width=60, source_line=lambda _file, _number: line).splitlines()
    at = lines.index("   s.yaml:5:" + str(column)) + 1
    assert lines[at : at + len(drawn)] == drawn
    assert "^" not in "".join(lines[at + len(drawn) :])

"""No error, warning or advisory is lost: a signature wants it, it is known to be harmless, or JSD904 shows it.

The lines are those of all templates, and the same with words cut out, as other versions may log them.
"""

import json
from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from pathlib import Path

import pytest

from jsdoctor.logs.lines.builtin import UNEXPLAINED, UNEXPLAINED_WARNING
from jsdoctor.logs.lines.line import read_line
from jsdoctor.logs.lines.matcher import Pattern, wants
from jsdoctor.logs.lines.stamp import LogYear
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.rule import Signature
from jsdoctor.sources.rule_pages import known_lines
from tests.logs.test_corpus import line_of, meant, templates
from tests.support.log_cases import evidence_of_files

_LOUD = ("WRN", "ERR", "FTL")
_IN_A_LOG = 20
START = """\
[7] 2026/11/21 09:59:00.000000 [INF] Starting nats-server
[7] 2026/11/21 09:59:00.000000 [INF]   Version:  2.15.1
[7] 2026/11/21 09:59:00.000000 [INF]   Name:     n1
[7] 2026/11/21 09:59:00.000000 [INF] Server is ready
"""


def lines(cut: str) -> Iterator[str]:
    """Loud lines of all templates. `cut`: without their first word, without their last one, or whole."""
    for template in templates():
        if template["level"] in _LOUD:
            head, level, text = line_of(template).partition(f"[{template['level']}] ")
            words = text.split(" ")
            kept = {"first": words[1:], "last": words[:-1], "none": words}[cut]
            if kept:
                yield f"{head}{level}{' '.join(kept)}"


@cache
def known() -> tuple[tuple[Signature, Pattern], ...]:
    """The lines of healthy servers in `rules/known_lines.toml`."""
    return tuple((signature, Pattern(signature.pattern, short=1 << 30)) for signature in known_lines())


def is_known(line: str) -> bool:
    read = read_line(line.encode(), LogYear(2026))
    return any(
        wants(signature, read.server, read.level) and pattern.groups(read.text) is not None
        for signature, pattern in known()
    )


def parts(cut: str) -> Iterator[tuple[str, ...]]:
    """The lines that no signature wants and that are not known, a log's worth at a time."""
    unknown = iter(sorted({line for line in lines(cut) if not (meant(line) or is_known(line))}))
    while part := tuple(islice(unknown, _IN_A_LOG)):
        yield part


@pytest.mark.parametrize(("cut", "least"), [("none", 8), ("first", 20), ("last", 14)])
def test_every_unknown_line_is_shown(cut: str, least: int, tmp_path: Path) -> None:
    unknown = list(parts(cut))
    assert len(unknown) >= least
    for part in unknown:
        assert shown_of(part, tmp_path / "n1.log") == len(part), part


def shown_of(part: tuple[str, ...], log: Path) -> int:
    """How many lines of that log are shown without an explanation."""
    minutes = (f"{hour:02}:{minute:02}" for hour, minute in product(range(10, 24), range(60)))
    dated = [line.replace("10:00:00", f"{at}:00") for line, at in zip(part, minutes, strict=False)]
    log.write_text(START + "\n".join(dated) + "\n", "utf-8")
    logs = evidence_of_files(log).get(LogEvidence)
    assert logs is not None
    return sum(occurrence.count for occurrence in logs.occurrences(UNEXPLAINED, UNEXPLAINED_WARNING))


def advisory(kind: str, at: str, **more: str) -> str:
    """Such as 2.15.1 publishes, without its id and its list of replicas."""
    shown = {"type": f"io.nats.jetstream.advisory.v1.{kind}", "timestamp": f"2026-11-28T{at}Z", "stream": "ORDERS"}
    return json.dumps(shown | more, separators=(",", ":"))


def test_an_advisory_that_no_rule_judges_is_shown(tmp_path: Path) -> None:
    """Those of a cluster two of whose three servers were killed."""
    of_work = [
        advisory("stream_leader_elected", "16:11:48.392002618", leader="n3"),
        advisory("stream_action", "16:11:48.392330543", action="create"),
    ]
    refused = advisory("terminated", "16:11:48.474304393", consumer="w", reason="poison")
    lost = [
        advisory("stream_quorum_lost", "16:12:08.389226175"),
        advisory("consumer_quorum_lost", "16:12:11.848027013", consumer="w"),
    ]
    log = tmp_path / "advisories.log"
    log.write_text("\n".join([START, *of_work, refused, *lost, f"2026-11-28 16:12:12 INFO advisory {lost[0]}"]))
    logs = evidence_of_files(log).get(LogEvidence)
    assert isinstance(logs, LogEvidence)
    found = logs.occurrences(UNEXPLAINED, UNEXPLAINED_WARNING)
    shown = {(line.signature, line.value("reason").rpartition(".")[2]): line.count for line in found}
    assert shown == {
        (UNEXPLAINED, "stream_quorum_lost"): 2,
        (UNEXPLAINED, "consumer_quorum_lost"): 1,
        (UNEXPLAINED_WARNING, "terminated"): 1,
    }

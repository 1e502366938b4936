"""Writes the comparison in `docs/prometheus.md` from the runs in `fixtures/prometheus/compared.json`.

python -m tests.prometheus.page
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tests.prometheus.comparison import RuleRecord, Run
from tests.prometheus.record import load
from tests.prometheus.stack import EXPORTERS
from tests.servers.binaries import ROOT
from tests.support.ruleset import rules

PAGE = ROOT / "docs" / "prometheus.md"
BEGIN, END = "<!-- comparison: written by tests/prometheus/page.py -->", "<!-- end of the comparison -->"
_MODES = {rule.code: (rule.failure_mode, rule.title) for rule in rules()}
_FIELD = re.compile(r"^(\S+) of .* is not shown in what was given$")


def page(runs: Sequence[Run]) -> str:
    """The whole page, with the comparison of these runs."""
    text = PAGE.read_text("utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{comparison(runs)}\n{END}{tail}"


def comparison(runs: Sequence[Run]) -> str:
    """What runs, what they found rule by rule, and what remained silent."""
    seen = {code for run in runs for code in run.rules}
    shown = {code for code in seen if any(run.rules[code].metrics for run in runs if code in run.rules)}
    silent = {code for run in runs for code in run.silent} - seen
    summary = f"Of {len(seen)} rules that found a fault, {len(shown)} find one in the metrics."
    contradictions = _contradicted([contradiction for run in runs for contradiction in run.contradictions])
    parts = [
        f"{len(runs)} runs on real servers: {_listed_runs(runs)}. {summary} {contradictions}",
        _table(("rule", "faults found with a login", *EXPORTERS), [_row(code, runs) for code in sorted(seen)]),
        f"Evaluated with the login and with the metrics, without a fault in any run: {_links(silent)}.",
    ]
    return "\n\n".join(parts) + "\n"


def _listed_runs(runs: Sequence[Run]) -> str:
    versions: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        versions[run.scene].add(run.server)
    return "; ".join(
        f"{scene.replace('-', ' ')} on {', '.join(sorted(servers))}" for scene, servers in versions.items()
    )


def _contradicted(contradictions: Sequence[str]) -> str:
    return f"Contradictions: {'; '.join(contradictions)}." if contradictions else "No run contradicts."


def _row(code: str, runs: Sequence[Run]) -> tuple[str, ...]:
    fault_count = sum(len(run.rules[code].login) for run in runs if code in run.rules)
    return (
        f"{_link(code)} {_MODES[code][1]}",
        f"{fault_count}",
        *(_cell(code, runs, exporter) for exporter in EXPORTERS),
    )


def _cell(code: str, runs: Sequence[Run], exporter: str) -> str:
    records = [run.rules[code] for run in runs if run.exporter == exporter and code in run.rules]
    faults = [(record, subject) for record in records for subject in record.login]
    if not faults:
        return "no fault planted"
    same = sum(1 for record, subject in faults if record.metrics.get(subject) == record.login[subject])
    milder = sum(1 for record, subject in faults if subject in record.metrics) - same
    if same == len(faults):
        return f"same ({same} of {len(faults)})"
    if not same + milder:
        return f"not visible: {_reason(records)}"
    other = f", {milder} of them with another severity" if milder else ""
    missed = f"; else: {_reason(records)}" if same + milder < len(faults) and _reason(records) else ""
    return f"weaker ({same + milder} of {len(faults)}{other}{missed})"


def _reason(records: Iterable[RuleRecord]) -> str:
    reasons = [record.unseen for record in records if record.unseen]
    return _short(max(reasons, key=reasons.count)) if reasons else ""


def _short(reason: str) -> str:
    field = _FIELD.match(reason)
    return f"`{field[1]}`" if field else reason


def _links(codes: Iterable[str]) -> str:
    return ", ".join(_link(code) for code in sorted(codes))


def _link(code: str) -> str:
    return f"[{code}](../rules/{_MODES[code][0]}/{code}.md)"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(_lines([head, ["---"] * len(head), *rows]))


def _lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    return (f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    PAGE.write_text(page(load()), "utf-8")

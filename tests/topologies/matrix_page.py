"""Writes docs/matrix.md from the tables of faults and healthy deployments that the tests set up on real servers.

python -m tests.topologies.matrix_page         (or: make matrix)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from tests.servers import BETWEEN, ROOT, VERSIONS
from tests.support.ruleset import rules
from tests.topologies import healthy, test_broken_deployments, test_declared_faults, test_healthy_states

PAGE = ROOT / "docs" / "matrix.md"
APPLICATIONS, SERVERS, HABITS = "Applications", "Servers", "Habits"
OLDEST = (2, 10)
_URL = re.compile(r"https?://[^\s,;`<>]+[^\s,;`<>.:)]")
_HEAD = """\
<!-- Written by `make matrix` from the tables in tests/topologies. Do not edit. -->

# Faults and healthy deployments

The tests set up each of these faults and healthy deployments on real servers of {versions}, where the
version has what is needed, and run `jsdoctor check` on it. For each fault the rule that must name it, and the subject
of its finding, were declared before the first run; for each healthy deployment, that nothing is at warning or above,
that no evidence is missing and that the exit code is 0. [matrix-runs.md](matrix-runs.md) says which of them failed at
first and what was changed; [proof.md](proof.md) has the results of the last run of all of them.

The faults of applications of a table are all planted on one deployment, once on a single server and once on a cluster
of three. Each fault of servers has a deployment of its own.
"""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the page: what is set up, its public source, and the first version that has it."""

    words: str
    source: str
    since: tuple[int, int]
    code: str = ""
    missed: str = ""

    @property
    def label(self) -> str:
        """The words, linked to the source."""
        return f"[{self.words}]({self.source})" if self.source else self.words

    @property
    def release(self) -> str:
        """The first version, unless every version that is tested has it."""
        return "" if self.since == OLDEST else ".".join(map(str, self.since))


Tables = Mapping[str, Sequence[Entry]]
"""Entries by the heading of their table."""


def fault_tables() -> Tables:
    """The faults by the heading of their table, in the order in which the tables were written."""
    tables: dict[str, Sequence[Entry]] = {}
    for name, of_applications in test_declared_faults.TABLES.items():
        tables[f"{APPLICATIONS}: {name}"] = [_entry(f.furnish, f.since, f.code, f.missed) for f in of_applications]
    for name, of_servers in test_broken_deployments.TABLES.items():
        tables[f"{SERVERS}: {name}"] = [_entry(f.build, f.since, f.code, f.missed) for f in of_servers]
    return tables


def healthy_tables() -> Tables:
    """The healthy habits of applications and the healthy deployments, by the heading of their table."""
    tables: dict[str, Sequence[Entry]] = {}
    for name, habits in healthy.TABLES.items():
        tables[f"{HABITS}: {name}"] = [_entry(habit.furnish, habit.since) for habit in habits]
    for name, states in test_healthy_states.TABLES.items():
        tables[f"{SERVERS}: {name}"] = [_entry(state.build, state.since) for state in states]
    return tables


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    faults, silent = fault_tables(), healthy_tables()
    *others, newest = (version for version in VERSIONS if version not in BETWEEN)
    yield _HEAD.format(versions=f"{', '.join(others)} and {newest}")
    yield "## Counts\n"
    yield from _counts(faults, silent)
    yield "## Faults that no rule names\n"
    missed = (entry for table in faults.values() for entry in table if entry.missed)
    yield from _table(("fault", "why"), ((entry.label, entry.missed) for entry in missed))
    yield "## Faults\n"
    links = {rule.code: f"[{rule.code}](../rules/{rule.failure_mode}/{rule.code}.md)" for rule in rules()}
    for heading, table in faults.items():
        yield f"### {heading}\n"
        rows = ((entry.label, "" if entry.missed else links[entry.code], entry.release) for entry in table)
        yield from _table(("fault", "named by", "from version"), rows)
    yield "## Healthy deployments\n"
    for heading, table in silent.items():
        yield f"### {heading}\n"
        yield from _table(("habit or deployment", "from version"), ((e.label, e.release) for e in table))


def _counts(faults: Tables, silent: Tables) -> Iterator[str]:
    rows: list[tuple[str, int, int]] = []
    for kind in (APPLICATIONS, SERVERS):
        entries = [entry for heading, table in faults.items() if heading.startswith(kind) for entry in table]
        named = sum(not entry.missed for entry in entries)
        rows.append((f"faults of {kind.lower()}", len(entries), named))
    rows.append(("all faults", sum(declared for _, declared, _ in rows), sum(named for _, _, named in rows)))
    shares = [(words, str(declared), str(named), f"{named / declared:.1%}") for words, declared, named in rows]
    for kind, words in ((HABITS, "healthy habits of applications"), (SERVERS, "healthy deployments")):
        count = sum(len(table) for heading, table in silent.items() if heading.startswith(kind))
        shares.append((words, str(count), "", ""))
    yield from _table(("", "declared", "named by a rule", "share"), shares)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _entry(build: Callable[..., object], since: tuple[int, int], code: str = "", missed: str = "") -> Entry:
    words = build.__name__.replace("_", " ")
    source = _URL.search(build.__doc__ or "")
    return Entry(words=words, source=source[0] if source else "", since=since, code=code, missed=missed)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

"""Writes `docs/peers.md` from `docs/peers.toml` and the rule pages: what other tools look at, and what answers it here.

python -m tools.peers_page
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from jsdoctor.model.duration import format_duration
from jsdoctor.model.rule import Param, Rule, Unit
from jsdoctor.render.wording import size
from tests.servers.binaries import ROOT
from tests.support.ruleset import rules

DATA = ROOT / "docs" / "peers.toml"
PAGE = ROOT / "docs" / "peers.md"


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What answers one thing that a peer looks at: rules, or the reason why there is none."""

    ours: tuple[str, ...] = ()
    differ: str = ""
    not_built: str = ""
    not_needed: str = ""


class AuditCheck(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A check of `nats audit`. `defaults` by the name of the threshold, in `unit`."""

    code: str
    name: str
    worst: str
    defaults: dict[str, float | int] = {}
    unit: str = ""


class CheckOption(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An option of `nats server check COMMAND`."""

    command: str
    option: str
    default: str = ""


class State(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A state that `nats server stream-check` or `consumer-check` shows."""

    command: str
    name: str
    means: str


class InsightsCheck(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One or more checks of Synadia Insights."""

    codes: str
    name: str
    theirs: str


class Peers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of `docs/peers.toml`."""

    nats_version: str
    planned: tuple[str, ...]
    audit: tuple[AuditCheck, ...]
    check: tuple[CheckOption, ...]
    state: tuple[State, ...]
    insights: tuple[InsightsCheck, ...]

    def entries(self) -> Iterator[Entry]:
        """Everything that a peer looks at."""
        yield from (*self.audit, *self.check, *self.state, *self.insights)


def load_peers() -> Peers:
    """The data. Raises `msgspec.ValidationError` for what does not belong there."""
    return msgspec.convert(tomllib.loads(DATA.read_text("utf-8")), Peers)


def page() -> str:
    """The whole page."""
    peers = load_peers()
    book = {rule.code: rule for rule in rules()}
    checks = _table(
        ("check", "its threshold", "worst", "jsdoctor", "where we differ"),
        [(f"{c.code} {c.name}", _thresholds(c), c.worst, _response_here(c, book), c.differ) for c in peers.audit],
    )
    options = [
        _table(
            (f"`{command}`", "its default", "jsdoctor", "where we differ"),
            [
                (
                    f"`{entry.option}`",
                    f"`{entry.default}`" if entry.default else "",
                    _response_here(entry, book),
                    entry.differ,
                )
                for entry in peers.check
                if entry.command == command
            ],
        )
        for command in dict.fromkeys(entry.command for entry in peers.check)
    ]
    states = _table(
        ("command", "state", "means", "jsdoctor", "where we differ"),
        [(f"`{s.command}`", f"`{s.name}`", s.means, _response_here(s, book), s.differ) for s in peers.state],
    )
    insights = _table(
        ("check", "about", "its threshold", "jsdoctor", "where we differ"),
        [(i.codes, i.name, i.theirs, _response_here(i, book), i.differ) for i in peers.insights],
    )
    return _TEXT.format(
        version=peers.nats_version, audit=checks, options="\n\n".join(options), states=states, insights=insights
    )


def _response_here(entry: Entry, book: Mapping[str, Rule]) -> str:
    """Each rule once, with its parameters and their defaults as its page has them."""
    if entry.not_built or entry.not_needed:
        return f"not built: {entry.not_built}" if entry.not_built else f"not needed: {entry.not_needed}"
    named: dict[str, list[str]] = {}
    for reference in entry.ours:
        code, _, param = reference.partition(".")
        named.setdefault(code, []).append(param)
    return "; ".join(_rule(code, params, book) for code, params in named.items())


def _rule(code: str, params: Sequence[str], book: Mapping[str, Rule]) -> str:
    if code not in book:
        return f"{code} (planned)"
    rule = book[code]
    wanted = rule.params if params == ["*"] else [param for param in params if param]
    values = ", ".join(f"`{name}` {_value(rule.params[name])}" for name in wanted)
    link = f"[{code}](../rules/{rule.failure_mode}/{code}.md)"
    return f"{link}: {values}" if values else link


def _value(param: Param) -> str:
    if param.default is None:
        return "not set"
    if param.unit is Unit.DURATION:
        return format_duration(int(param.default))
    if param.unit is Unit.RATIO:
        return f"{param.default * 100:g} %"
    if param.unit is Unit.BYTES:
        return size(param.default)
    return f"{param.default:,}" + ("/s" if param.unit is Unit.PER_SECOND else "")


def _thresholds(check: AuditCheck) -> str:
    return ", ".join(f"{name} {value:,} {check.unit}".strip() for name, value in check.defaults.items())


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


_TEXT = """\
<!-- Written by `python -m tools.peers_page` from docs/peers.toml and the rule pages. Change those. -->

# What the peers look at, and what answers it here

Every check of `nats audit`, every option of `nats server check`, every state of `nats server stream-check` and
`consumer-check` ({version}), and all 142 checks of Synadia Insights (its catalogue of June 2026). Beside each
are the rules of jsdoctor with the defaults of their parameters. *Planned* rules are listed and not there yet. Where
there is no rule, the reason is given. `jsdoctor explain CODE` shows the page of a rule.

## Whose threshold counts

Operators can write thresholds into the metadata of a stream or consumer, as `io.nats.monitor.KEY` beside
`io.nats.monitor.enabled` = `true`. JSD608 and JSD415 judge them. Each key has a parameter of the same name there, in
underscores, and the first of these counts:

1. the command line: `jsdoctor check --set JSD415.unprocessed_critical=5000`, which may be given again for others;
2. the configuration: `unprocessed_critical = 5000` below `[rules.JSD415]` in `jsdoctor.toml`;
3. the metadata: `io.nats.monitor.unprocessed-critical` = `5000`;
4. the default of the rule's page. These parameters have none: what nobody sets is not judged by these rules.

The first two hold for every stream or consumer, enabled or not, and 0 switches a threshold off whatever metadata says.
Where another rule judges the same number, metadata goes before its default likewise: `unprocessed-critical` before
`error_pending` of JSD401, `peer-lag-critical` before `fail_lag` of JSD704, `seen-critical` before `max_silence` of
JSD607, a ceiling of subjects before `warn_subjects` of JSD606.

`nats server check stream` {version} does it the other way round: what is in the metadata replaces what is on its
command line, enabled or not, whatever its help says. `nats server check consumer` looks at no metadata; `nats audit`
looks at that of both.

`--set CODE.PARAM=VALUE` sets any parameter of any rule. Durations are written as `90s`, `5m`, `72h` or `7d`.

## `nats audit`

{audit}

Findings there are sentences; here each has a subject, what was measured, the threshold, the evidence and a remedy.
`nats audit analyze` ends with exit code 0 whatever it finds, and no option sets a threshold.

## `nats server check`

One stream, consumer or server for each run there, all of them here.

{options}

## `nats server stream-check` and `consumer-check`

{states}

## Synadia Insights

A commercial service that looks every minute and keeps what it saw. Its codes are like those of `nats audit` and mean
other things. This is from its public documentation, read in November 2026; it was not run. Checks of single
connections, accounts' cost, services and users are left out.

{insights}
"""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

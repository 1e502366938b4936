"""A preflight for a person: whether to do it, what stands in the way, and what happens besides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.harm import Harm
from jsdoctor.model.preflight import GoNoGo, Obstacle, Preflight, PreflightReport
from jsdoctor.model.wording import counted, joined, listed
from jsdoctor.render.escape import ascii_only
from jsdoctor.render.findings import CUT_OFF
from jsdoctor.render.markdown_text import code_text, plain_text, table
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import Page
from jsdoctor.render.wording import to_the_second

_STYLES = {GoNoGo.GO: "bold green", GoNoGo.NO_GO: "bold red", GoNoGo.UNKNOWN: "bold yellow"}
_WORDS = {GoNoGo.GO: "go", GoNoGo.NO_GO: "no-go", GoNoGo.UNKNOWN: "unknown"}
_HARM_NOW = {
    Harm.DATA_LOST: "loses data",
    Harm.QUORUM_LOST: "without quorum",
    Harm.NO_LEADER: "without a leader",
    Harm.NOT_CURRENT: "not current elsewhere",
    Harm.UNAVAILABLE: "unavailable",
    Harm.CUT_OFF: "cut off",
    Harm.NO_ROOM: "no room for clients",
    Harm.NO_START: "does not start",
    Harm.UNSUPPORTED: "not supported",
    Harm.REFUSED: "refused",
    Harm.DEFECT: "known defects",
}
_HARM_PREDICTED = {
    Harm.DATA_LOST: "would lose data",
    Harm.QUORUM_LOST: "would have no quorum",
    Harm.NO_LEADER: "without a leader now",
    Harm.NOT_CURRENT: "would be left without a current majority",
    Harm.UNAVAILABLE: "would be unavailable",
    Harm.CUT_OFF: "would be cut off",
    Harm.NO_ROOM: "would have no room for clients",
    Harm.NO_START: "would keep a server from starting",
    Harm.UNSUPPORTED: "would not be run as configured",
    Harm.REFUSED: "would be refused something",
    Harm.DEFECT: "would meet known defects that a later release has fixed",
}
_NAMES_SHOWN = 3
_INDENT = 3


class ObstacleCause(msgspec.Struct, frozen=True):
    """Obstacles that one sentence describes."""

    obstacles: tuple[Obstacle, ...]

    @property
    def first(self) -> Obstacle:
        """The one whose advice and command are shown."""
        return self.obstacles[0]

    def names(self, limit: int) -> str:
        """The subjects with what each has at stake."""
        return listed((_name(each) + (f" ({each.holds})" if each.holds else "") for each in self.obstacles), limit)


def render_preflight(report: PreflightReport, options: RenderOptions) -> str:
    """The verdict first. With `each` a table; `quiet` leaves the verdicts."""
    page = Page(options)
    if options.quiet:
        for result in report.results:
            page.unwrapped(
                (_WORDS[result.verdict], _STYLES[result.verdict]), f" {', '.join(result.without) or result.target}"
            )
        return page.text()
    if report.each:
        _write_table(page, report, options)
    else:
        for result in report.results:
            _write_result(page, result, options)
    if options.verbose:
        page.blank()
        page.line((f"jsdoctor {report.version} · {report.headline} · {to_the_second(report.started)}", "dim"))
    return page.text()


def _write_result(page: Page, result: Preflight, options: RenderOptions) -> None:
    page.line((verdict_sentence(result), _STYLES[result.verdict]))
    for number, cause in enumerate(_causes(result.standing), 1):
        page.blank()
        limit = 0 if options.verbose else _NAMES_SHOWN
        lead = f"{number}. "
        page.line(lead, (cause.names(limit), "bold"), f": {cause.first.message}.", hang=_INDENT)
        page.line(f"First: {cause.first.advice}.", indent=_INDENT)
        _write_command(page, cause)
    accepted = [obstacle for obstacle in result.obstacles if obstacle.accepted]
    if accepted:
        page.blank()
        for cause in _causes(accepted):
            page.line(f"Accepted: {cause.names(_NAMES_SHOWN)}: {cause.first.message}.")
    if result.target:
        _write_changes(page, result, options)
    elif sentences := list(_other_effects(result)):
        page.blank()
        page.line(" ".join(sentences), hang=0)
        if options.verbose:
            for effect in result.effects:
                page.line(f"{effect.message}: {listed(effect.names, 0)}", indent=2)
    _write_unseen(page, result, options)


def _write_changes(page: Page, result: Preflight, options: RenderOptions) -> None:
    """What changes with a release, a line each."""
    if result.effects:
        page.blank()
        page.line(("What changes", "bold"))
    for effect in result.effects:
        page.line(f"- {effect.message}", hang=2)
        if options.verbose and effect.kind.startswith("defects"):
            for name in effect.names:
                page.line(f"- {name}", indent=2, hang=4)


def _write_command(page: Page, cause: ObstacleCause) -> None:
    for text in cause.first.commands[:1]:
        which = f", the first of {len(cause.obstacles):,}" if len(cause.obstacles) > 1 else ""
        login = f" (with {cause.first.login})" if cause.first.login else ""
        page.verbatim(f"Run{which}{login}: ", text, CUT_OFF, indent=_INDENT)


def _write_unseen(page: Page, result: Preflight, options: RenderOptions) -> None:
    if not result.unseen:
        return
    page.blank()
    page.line(("Not seen", "bold"))
    limit = options.max_examples or len(result.unseen)
    for gap in result.unseen[:limit]:
        label = gap.subject.label if gap.subject != CLUSTER else "servers"
        page.line(f"{label}: {gap.reason}", indent=2)
        if gap.how_to_get:
            page.line(f"→ {gap.how_to_get}", indent=4)
    if len(result.unseen) > limit:
        page.line(f"and {counted(len(result.unseen) - limit, 'more gap')}", indent=2)


def verdict_sentence(result: Preflight) -> str:
    """`Go: n2 can be stopped now.`, `No-go for n2: …`, or that it cannot be known."""
    if result.target:
        return _verdict_on_release(result)
    names = joined(result.without)
    if result.verdict is GoNoGo.GO:
        despite = f" although {joined(result.gone)} {_verb(result.gone)} gone" if result.gone else ""
        return f"Go: {names} can be stopped now{despite}."
    if result.verdict is GoNoGo.UNKNOWN:
        return f"Unknown: nothing that was seen keeps {names} from being stopped, and not everything was seen."
    already = f" {joined(result.gone)} {_verb(result.gone)} gone already." if result.gone else ""
    return f"No-go for {names}: {_reasons(result)}.{already}"


def _verdict_on_release(result: Preflight) -> str:
    running = joined(result.running) or "an unknown release"
    if result.running == (result.target,):
        return f"The servers run {result.target} already."
    if result.verdict is GoNoGo.GO:
        return f"Go: nothing here keeps the servers from moving from {running} to {result.target}."
    if result.verdict is GoNoGo.UNKNOWN:
        return f"Unknown: nothing that was seen stands between {running} and {result.target}, and not all was seen."
    return f"No-go from {running} to {result.target}: {_reasons(result)}."


def _reasons(result: Preflight) -> str:
    parts = []
    for harm in dict.fromkeys(obstacle.harm for obstacle in result.standing):
        subjects = [_name(obstacle) for obstacle in result.standing if obstacle.harm is harm]
        names = list(dict.fromkeys(subjects))
        parts.append(
            f"{joined(names) if len(names) <= _NAMES_SHOWN else listed(names, _NAMES_SHOWN)} {_HARM_PREDICTED[harm]}"
        )
    return "; ".join(parts)


def _other_effects(result: Preflight) -> Iterator[str]:
    """The effects of the change that are no obstacles, as sentences."""
    if result.verdict is GoNoGo.GO and result.groups:
        left = "and every one keeps its quorum with members that are current"
        yield f"{counted(result.groups, 'Raft group')} {'have' if result.groups > 1 else 'has'} a member there, {left}."
    for effect in result.effects:
        yield f"{effect.message[:1].upper()}{effect.message[1:]}."
    if result.verdict is GoNoGo.GO and result.spare == 0:
        yield f"Stop no other server before {joined(result.without)} {_verb(result.without)} back and current."


def _write_table(page: Page, report: PreflightReport, options: RenderOptions) -> None:
    """Write a line for each server: the verdict, and what stopping it would harm."""
    width = max((len(joined(result.without)) for result in report.results), default=0)
    for result in report.results:
        name = joined(result.without)
        page.line(
            f"{name:<{width}}  ",
            (f"{_WORDS[result.verdict]:<7}", _STYLES[result.verdict]),
            f"  {harm_cell(result, 0 if options.verbose else 2)}",
            hang=width + 11,
        )
    page.blank()
    page.line((closing(report), _STYLES[report.verdict]))


def harm_cell(result: Preflight, limit: int) -> str:
    """The subjects that stopping would harm, in one table cell: `unavailable: APP > A, APP > B and 2 more; …`."""
    if result.standing:
        parts = []
        for harm in dict.fromkeys(obstacle.harm for obstacle in result.standing):
            names = [_name(obstacle) for obstacle in result.standing if obstacle.harm is harm]
            parts.append(f"{_HARM_NOW[harm]}: {listed(names, limit)}")
        return "; ".join(parts)
    if result.unseen:
        gap = result.unseen[0]
        more = f" and {counted(len(result.unseen) - 1, 'more gap')}" if len(result.unseen) > 1 else ""
        return f"{gap.subject.label}: {gap.reason}{more}"
    moves = next((effect for effect in result.effects if effect.kind == "leaders_move"), None)
    return moves.message if moves else "no leader moves"


def closing(report: PreflightReport) -> str:
    """Which single failure the deployment survives."""
    by_verdict = {verdict: [r for r in report.results if r.verdict is verdict] for verdict in GoNoGo}
    bad, unknown = by_verdict[GoNoGo.NO_GO], by_verdict[GoNoGo.UNKNOWN]
    if not report.results:
        return "Unknown: no server shows which servers there are."
    if bad:
        names = listed((joined(result.without) for result in bad), _NAMES_SHOWN)
        return f"{len(bad)} of {counted(len(report.results), 'server')} must not stop now: {names}."
    if unknown:
        return f"Unknown for {listed((joined(result.without) for result in unknown), _NAMES_SHOWN)}."
    return "Any one of these servers may stop now, and no second one before it is back and current."


def render_preflight_markdown(report: PreflightReport, options: RenderOptions) -> str:
    """For a change ticket or a step summary: a table for each server, else a section for each result."""
    if report.each:
        rows = [(code_text(joined(r.without)), _WORDS[r.verdict], plain_text(harm_cell(r, 5))) for r in report.results]
        sections = [f"## jsdoctor preflight: {plain_text(closing(report))}", table(("without", "verdict", "why"), rows)]
    else:
        sections = [part for result in report.results for part in _sections(result)]
    sections.append(plain_text(f"jsdoctor {report.version} · {report.headline} · {to_the_second(report.started)}"))
    text = "\n\n".join(sections) + "\n"
    return ascii_only(text) if options.ascii_only else text


def _sections(result: Preflight) -> Iterator[str]:
    yield f"## {plain_text(verdict_sentence(result))}"
    for cause in _causes(result.standing):
        yield f"- {code_text(cause.names(5))}: {plain_text(f'{cause.first.message}. First {cause.first.advice}.')}"
        for text in cause.first.commands[:1]:
            yield f"  {code_text(text)}"
    if result.target:
        yield "\n".join(f"- {plain_text(effect.message)}" for effect in result.effects)
    elif sentences := list(_other_effects(result)):
        yield plain_text(" ".join(sentences))
    if result.unseen:
        yield "\n".join(f"- not seen: {plain_text(f'{gap.subject.label}: {gap.reason}')}" for gap in result.unseen)


def _causes(obstacles: Sequence[Obstacle]) -> list[ObstacleCause]:
    by_text: dict[tuple[str, str], list[Obstacle]] = {}
    for obstacle in obstacles:
        by_text.setdefault((obstacle.message, obstacle.advice), []).append(obstacle)
    return [ObstacleCause(tuple(same_text)) for same_text in by_text.values()]


def _name(obstacle: Obstacle) -> str:
    """The subject; the meta group of a domain has the domain's name."""
    if obstacle.subject.kind == "cluster" and obstacle.members:
        return f"the meta group of {obstacle.subject.name}" if obstacle.subject.name else "the meta group"
    return "the deployment" if obstacle.subject == CLUSTER else obstacle.subject.label


def _verb(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"

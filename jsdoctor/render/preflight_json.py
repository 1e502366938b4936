"""A preflight for machines: `jsdoctor.preflight/v1`. Never cut."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from jsdoctor.model.harm import Harm
from jsdoctor.model.preflight import SCHEMA, GoNoGo, Obstacle, Preflight, PreflightReport
from jsdoctor.render.formats.json import gap_document, source_document
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.report_document import GapDocument, JsonObject, Moment, SourceDocument, SubjectDocument, Version
from jsdoctor.render.wording import rfc3339


class ObstacleDocument(JsonObject, frozen=True, kw_only=True):
    """A reason not to do it now."""

    harm: Harm
    subject: SubjectDocument
    message: str
    advice: Annotated[str, Meta(description="What to do first")]
    holds: Annotated[str, Meta(description="What the subject has at stake")]
    members: tuple[str, ...]
    remaining: Annotated[tuple[str, ...], Meta(description="Members that are left")]
    behind: Annotated[tuple[str, ...], Meta(description="Those of them that are not current")]
    commands: Annotated[tuple[str, ...], Meta(description="They take the obstacle away")]
    login: Annotated[str, Meta(description="The login that they need and the run did not have")]
    accepted: bool


class EffectDocument(JsonObject, frozen=True, kw_only=True):
    """What happens besides."""

    kind: str
    message: str
    count: int
    names: tuple[str, ...]


class ResultOfServersDocument(JsonObject, frozen=True, kw_only=True):
    """The result for servers that stop together, or for a release."""

    without: tuple[str, ...]
    target: Annotated[str, Meta(description="Release that all servers are to run; empty where servers stop")]
    running: Annotated[tuple[str, ...], Meta(description="Releases that they run, where a release is judged")]
    verdict: GoNoGo
    gone: Annotated[tuple[str, ...], Meta(description="Members that no leader has contact with now")]
    groups: Annotated[int, Meta(description="Raft groups with a member on the servers")]
    spare: Annotated[int | None, Meta(description="Members that the weakest of them could lose afterwards")]
    obstacles: tuple[ObstacleDocument, ...]
    effects: tuple[EffectDocument, ...]
    unseen: tuple[GapDocument, ...]


class PreflightDocument(JsonObject, frozen=True, kw_only=True):
    """The whole document."""

    schema_name: str = field(name="schema")
    jsdoctor: Version
    started: Moment
    finished: Moment
    sources: tuple[SourceDocument, ...]
    headline: str
    verdict: GoNoGo
    results: tuple[ResultOfServersDocument, ...]


def render_preflight_json(report: PreflightReport, options: RenderOptions) -> str:
    """One JSON object and a newline."""
    document = PreflightDocument(
        schema_name=SCHEMA,
        jsdoctor=report.version,
        started=rfc3339(report.started),
        finished=rfc3339(report.finished),
        sources=tuple(map(source_document, report.sources)),
        headline=report.headline,
        verdict=report.verdict,
        results=tuple(map(_result, report.results)),
    )
    return dumps(document, options.ascii_only)


def _result(result: Preflight) -> ResultOfServersDocument:
    return ResultOfServersDocument(
        without=result.without,
        target=result.target,
        running=result.running,
        verdict=result.verdict,
        gone=result.gone,
        groups=result.groups,
        spare=result.spare,
        obstacles=tuple(map(_obstacle, result.obstacles)),
        effects=tuple(
            EffectDocument(kind=e.kind, message=e.message, count=e.count, names=e.names) for e in result.effects
        ),
        unseen=tuple(map(gap_document, result.unseen)),
    )


def _obstacle(obstacle: Obstacle) -> ObstacleDocument:
    subject = obstacle.subject
    return ObstacleDocument(
        harm=obstacle.harm,
        subject=SubjectDocument(kind=subject.kind, name=subject.name, account=subject.account, stream=subject.stream),
        message=obstacle.message,
        advice=obstacle.advice,
        holds=obstacle.holds,
        members=obstacle.members,
        remaining=obstacle.remaining,
        behind=obstacle.behind,
        commands=obstacle.commands,
        login=obstacle.login,
        accepted=obstacle.accepted,
    )

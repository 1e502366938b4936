"""Where in files the evidence of a finding stands, for formats that point at lines."""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec

from jsdoctor.model.finding import Finding
from jsdoctor.render.escape import printable, without_lone_surrogates
from jsdoctor.render.plain import compact

_LINE_PATH = re.compile(r"line ([1-9][0-9]{0,8})(?:, column ([1-9][0-9]{0,8}))?(?:, byte [0-9]+)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class Place(msgspec.Struct, frozen=True):
    """A line of a file, both as the report names them. Lines and columns count from 1; 0 means not known."""

    file: str
    line: int = 0
    column: int = 0
    text: str = ""


def places(finding: Finding) -> tuple[Place, ...]:
    """The lines that were seen, in the order of the evidence; else the file that the finding is about, if it is one."""
    file_places = tuple(
        Place(observation.source, int(at[1]), int(at[2] or 0), compact(observation.value))
        for observation in finding.evidence
        if observation.source and (at := _LINE_PATH.fullmatch(observation.path))
    )
    if not file_places and finding.subject.kind == "file" and finding.subject.name:
        return (Place(finding.subject.name),)
    return file_places


def file_uri(file: str) -> str:
    """The file as an RFC 3986 URI reference: relative paths stay relative."""
    name = without_lone_surrogates(file)
    if _SCHEME.match(name):
        return quote(name, safe=":/@")
    return f"file://{quote(name)}" if name.startswith("/") else quote(name)


def file_path(file: str) -> str:
    """The file as a path that can be shown and compared: without `./` in front, nothing in it that does not print."""
    return printable(file).removeprefix("./")

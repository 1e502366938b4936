"""From what the user names to the files that are to be read."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from glob import has_magic

import msgspec

from jsdoctor.model.log_scan import Part
from jsdoctor.sources.archives.store import STDIN, Stored, is_uri, open_stored, stored_at
from jsdoctor.sources.codec import FACTORS, PEEK, codec_of, is_tar, not_a_log

_COMPRESSED = re.compile(r"(?:\.(?:gz|zst|zstd|bz2|xz|z))+(?=\.\d+$|$)", re.IGNORECASE)
_ROTATED = re.compile(
    r"\.\d{4}\.\d\d\.\d\d\.\d\d\.\d\d\.\d\d\.\d+$"  # nats-server: nats.log.2026.11.21.04.50.23.579731281
    r"|\.\d{1,4}$"  # logrotate: nats.log.1
    r"|[-._]\d{8}(?:[-T]?\d{4,6})?$"
)
_DATE = re.compile(
    r"[-._]?(?<!\d)\d{4}[-._]?(?:0[1-9]|1[0-2])[-._]?(?:0[1-9]|[12]\d|3[01])(?:[-T_.]?\d{2}[-:_.]?\d{2}(?:[-:_.]?\d{2})?)?(?!\d)"
)
_NUMBERED = re.compile(r"(?:^|(?<=/))\d{1,4}(?=\.log$)")


class ReadPlan(msgspec.Struct, frozen=True):
    """What is to be read: one part for each whole file, and an estimate of all text in bytes."""

    files: tuple[Part, ...]
    text: int


def series_of(name: str) -> str:
    """What a file and its rotations have in common: the name without compression, rotation, and dates."""
    stem = _COMPRESSED.sub("", name)
    stem = _ROTATED.sub("", _COMPRESSED.sub("", _ROTATED.sub("", stem)))
    directory, slash, base = stem.rpartition("/")
    return directory + slash + _NUMBERED.sub("*", _DATE.sub("*", base))


def discover(
    inputs: Sequence[str],
    zones: Sequence[tuple[str, str]] = (),
    servers: Sequence[tuple[str, str]] = (),
    names: Mapping[str, str] | None = None,
) -> ReadPlan:
    """Find every file that the inputs name. `zones` and `servers` are (pattern, value); the first that fits counts.

    A pattern is matched against the name in the report, its last component and the path. What cannot be opened is a
    file with a `problem`: nothing that was named is lost. `names` is what reports call some of the paths.
    """
    stored_files = [(given, stored) for given in inputs for stored in stored_at(given)]
    repeated = Counter(stored.name for _, stored in stored_files)
    parts: dict[str, Part] = {}
    for given, stored in stored_files:
        ambiguous = repeated[stored.name] > 1 and stored.path != stored.name
        name = f"{given.rstrip('/')}/{stored.name}" if ambiguous else stored.name
        name = (names or {}).get(stored.path, name)
        # Links, as those of a node's /var/log/containers, lead to files that are there as well.
        identity = stored.path if is_uri(stored.path) else os.path.realpath(stored.path)
        if identity not in parts or (stored.path == identity != parts[identity].path):
            named = stored.path == given or stored.name == STDIN or (stored.problem != "" and not has_magic(given))
            part = _part_of_file(stored, name, named or bool(stored.problem))
            zone, server = _first_match(zones, part), _first_match(servers, part)
            parts[identity] = msgspec.structs.replace(part, zone=zone, server=server)
    files = tuple(sorted(parts.values(), key=lambda part: (part.name, part.path)))
    return ReadPlan(files, sum(part.weight for part in files))


def _first_match(pairs: Sequence[tuple[str, str]], part: Part) -> str:
    """The value of the first pattern that matches the name of the part, its last component or its path."""
    candidates = (part.name, part.name.rpartition("/")[2], part.path)
    return next((value for pattern, value in pairs if any(fnmatchcase(c, pattern) for c in candidates)), "")


def _part_of_file(stored: Stored, name: str, named: bool) -> Part:
    """One part for the whole file. Its first bytes give the codec; if it cannot be read, `problem` has the reason."""
    problem, codec = stored.problem, ""
    if not problem:
        try:
            with open_stored(stored.path) as stream:
                head = stream.read(PEEK) or b""
        except OSError as error:
            problem = error.strerror or str(error)
        else:
            codec = codec_of(head) or ("tar" if is_tar(head) else "")
            problem = "" if codec or not head else not_a_log(head)
    weight = 0 if problem else int(stored.size * FACTORS.get(codec, 1.0))
    series = series_of(name)
    return Part(
        path=stored.path,
        name=name,
        series=series,
        end=stored.size,
        size=stored.size,
        codec=codec,
        weight=weight,
        mtime_us=stored.mtime_us,
        named=named,
        problem=problem,
    )

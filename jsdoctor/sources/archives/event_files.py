"""Every normalised event as Parquet (`jsdoctor.events/v1`, docs/events.md): files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, unquote

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

import jsdoctor
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.log_scan import LogEvent, Part, Row, ScanSettings
from jsdoctor.model.problems import UsageProblem
from jsdoctor.redaction.redact import scrub_line
from jsdoctor.redaction.scrubbed import scrubbed_fields
from jsdoctor.sources.archives.part import scan_part

EVENTS_FORMAT = "jsdoctor.events/v1"
MANIFEST = "_jsdoctor.json"
"""Written last. Readers of Parquet pass over names that begin with an underscore."""

_SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us")),
        ("zoned", pa.bool_()),
        ("level", pa.string()),
        ("signature", pa.string()),
        ("fields", pa.map_(pa.string(), pa.string())),
        ("file", pa.string()),
        ("offset", pa.int64()),
        ("text", pa.string()),
    ]
)
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # the name that Hive gives to a partition without a value
_MAX_BUFFERED_EVENTS = 20_000
_MAX_OPEN_FILES = 32
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EventFile:
    """One finished file, relative to the directory, and how many events it has."""

    path: str
    events: int


@dataclass(frozen=True, slots=True)
class EventStaging:
    """Where workers write what is not yet official. Pickles; `uri` is a path or what `pyarrow.fs` reads."""

    uri: str

    def writer(self) -> EventWriter:
        """A writer of its own for one task."""
        return EventWriter(self.uri)

    def scan(self, settings: ScanSettings, part: Part, progress: Callable[[int], None] | None = None) -> Iterator[Row]:
        """The rows of a part, as `scan_part` yields them; its events are written as well."""
        writer = self.writer()
        yield from scan_part(settings, part, sink=writer.add, progress=progress)
        writer.close()


class EventWriter:
    """Writes the events of one task, a file for each date and server, holding few of them in memory."""

    def __init__(self, uri: str) -> None:
        self._files, self._root = _filesystem(uri)
        self._buffered: dict[str, list[LogEvent]] = {}
        self._buffered_count = 0
        self._open: OrderedDict[str, tuple[str, Any]] = OrderedDict()
        self._events_by_path: dict[str, int] = {}

    def add(self, events: Sequence[LogEvent]) -> None:
        """Add a batch."""
        for event in events:
            self._buffered.setdefault(_partition(event), []).append(event)
        self._buffered_count += len(events)
        if self._buffered_count >= _MAX_BUFFERED_EVENTS:
            self._flush()

    def close(self) -> list[EventFile]:
        """Finish every file and return them."""
        self._flush()
        while self._open:
            self._close_oldest()
        return [EventFile(path, count) for path, count in sorted(self._events_by_path.items())]

    def _flush(self) -> None:
        for partition, events in sorted(self._buffered.items()):
            path, file = self._open_file(partition)
            file.write_table(_table(events))
            self._events_by_path[path] += len(events)
        self._buffered, self._buffered_count = {}, 0

    def _open_file(self, partition: str) -> tuple[str, Any]:
        """The path and the open file of a partition. At most `_MAX_OPEN_FILES` are open: the oldest is closed first."""
        if partition not in self._open:
            while len(self._open) >= _MAX_OPEN_FILES:
                self._close_oldest()
            path = f"{partition}/{uuid.uuid4().hex}.parquet"
            self._files.create_dir(f"{self._root}/{partition}", recursive=True)
            self._open[partition] = (
                path,
                pq.ParquetWriter(f"{self._root}/{path}", _SCHEMA, filesystem=self._files, compression="zstd"),
            )
            self._events_by_path[path] = 0
        self._open.move_to_end(partition)
        return self._open[partition]

    def _close_oldest(self) -> None:
        _, (_, file) = self._open.popitem(last=False)
        file.close()


class EventStore:
    """The directory of one run: written aside, moved into place at the end, removed if the run does not complete."""

    def __init__(self, place: str) -> None:
        """Create the staging directory. Raises `UsageProblem` unless `place` is empty or can be created."""
        self._place = place
        try:
            self._files, self._root = _filesystem(place if "://" in place else str(Path(place).absolute()))
            info = self._files.get_file_info(fs.FileSelector(self._root, allow_not_found=True))
            if info:
                raise UsageProblem(f"--events {place} is not empty", "name a directory that is not there yet")
            self._staging_name = f"_unfinished-{uuid.uuid4().hex[:12]}"
            self._files.create_dir(f"{self._root}/{self._staging_name}", recursive=True)
        except (OSError, pa.ArrowInvalid) as error:
            raise UsageProblem(f"--events {place} cannot be written: {error}", "choose another place") from error

    @property
    def staging(self) -> EventStaging:
        """The staging area for the workers."""
        base = self._place if "://" in self._place else self._root
        return EventStaging(f"{base.rstrip('/')}/{self._staging_name}")

    def commit(self, servers: Mapping[str, str], written: Iterable[EventFile] | None = None) -> int:
        """Move finished files into place, then write the manifest. Returns the number of events.

        `servers` are names that were learned after the lines had been read, by the names used before (`server_names`).
        `written` names the files that count, if a task may have been tried twice; otherwise all existing files count.
        """
        listed = sorted(self._staged() if written is None else written, key=lambda file: file.path)
        for file in listed:
            target = f"{self._root}/{_final_path(file.path, servers)}"
            self._files.create_dir(target.rpartition("/")[0], recursive=True)
            self._files.move(f"{self._root}/{self._staging_name}/{file.path}", target)
        events = sum(file.events for file in listed)
        manifest = {
            "format": EVENTS_FORMAT,
            "jsdoctor": jsdoctor.__version__,
            "created": datetime.now(UTC),
            "events": events,
            "files": len(listed),
        }
        with self._files.open_output_stream(f"{self._root}/{MANIFEST}") as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
        return events

    def _staged(self) -> Iterator[EventFile]:
        aside = f"{self._root}/{self._staging_name}"
        for info in self._files.get_file_info(fs.FileSelector(aside, recursive=True)):
            if info.is_file:
                rows = pq.read_metadata(info.path, filesystem=self._files).num_rows
                yield EventFile(info.path.removeprefix(f"{aside}/"), rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the staging directory, and after an error the whole directory if it is empty."""
        with contextlib.suppress(OSError):
            self._files.delete_dir(f"{self._root}/{self._staging_name}")
        if kind is not None:
            with contextlib.suppress(OSError):
                if not self._files.get_file_info(fs.FileSelector(self._root)):
                    self._files.delete_dir(self._root)


def server_names(parts: Iterable[Part], evidence: LogEvidence) -> dict[str, str]:
    """The server that wrote each series, if only one did. Events have the series for a name until a banner has it."""
    series_of = {part.name: part.series for part in parts}
    known_names: dict[str, set[str]] = {}
    for file in evidence.files:
        known_names.setdefault(series_of.get(file.path, file.path), set()).update(file.servers)
    return {series: min(names) for series, names in known_names.items() if len(names) == 1}


def _final_path(path: str, servers: Mapping[str, str]) -> str:
    """The path of a staged file with the server name that was learned later."""
    date, server, file = path.split("/")
    known = unquote(server.removeprefix("server="))
    return f"{date}/server={_partition_value(servers.get(known, known))}/{file}"


def _partition_value(server: str) -> str:
    return quote(server, safe="") or _NO_VALUE


def _filesystem(uri: str) -> tuple[Any, str]:
    if "://" in uri:
        files, root = fs.FileSystem.from_uri(uri)
        return files, root.rstrip("/")
    return fs.LocalFileSystem(), uri.rstrip("/") or "/"


def _partition(event: LogEvent) -> str:
    day = (_EPOCH + timedelta(microseconds=event.at_us)).date().isoformat() if event.at_us is not None else _NO_VALUE
    return f"date={day}/server={_partition_value(event.server)}"


def _table(events: Sequence[LogEvent]) -> pa.Table:
    texts = [scrub_line(event.text) for event in events]
    columns: list[Sequence[Any]] = [
        [event.at_us for event in events],
        [event.zoned for event in events],
        [event.level for event in events],
        [event.signature for event in events],
        [list(scrubbed_fields(event.fields, event.text, text)) for event, text in zip(events, texts, strict=True)],
        [event.file for event in events],
        [event.offset for event in events],
        texts,
    ]
    arrays = [pa.array(values, type=kind) for values, kind in zip(columns, _SCHEMA.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)

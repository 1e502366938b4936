"""Records `fixtures/fields`: what servers of every version answer to changes of fields of streams and consumers.

    python -m tools.record_fields

Arguments are the starts to record again, such as "stream limited"; without them, all are recorded.
`tools/field_changes.py` has the changes, `tools/field_trial.py` makes them. For each version, `VERSION.json`
has the deployment before a change, with one stream for each start, and `VERSION.answers.json` has what the server
refuses, with its error code, and how many messages it deletes; it takes everything else without a loss. Run it after a
new start, field or value: `tools/recorded_fields.py` finds a change without an answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from nats.aio.client import Client

from tests.servers import VERSIONS, Cluster
from tests.support.evidence import FIXTURES, dump_samples
from tools.field_changes import FieldChange, consumer_changes, stream_changes
from tools.field_trial import AGED_S, ROOM, answers, held, origins, plant, run
from tools.field_values import Json
from tools.record import record

DIRECTORY = FIXTURES / "fields"


def changes(version: str, one_name: bool = False) -> list[FieldChange]:
    """All that this version is asked for."""
    major, minor, *_ = (int(part) for part in version.split("."))
    return [*stream_changes((major, minor), one_name), *consumer_changes((major, minor), one_name)]


def start_of(change: FieldChange) -> str:
    """The start, told apart from one of the other kind."""
    return f"{'consumer' if change.of_consumer else 'stream'} {change.start}"


def starts(cluster: Cluster, version: str) -> dict[str, dict[str, int]]:
    """Record the deployment before a change; the messages by subject of each stream."""
    first = {start_of(change): change for change in reversed(changes(version, one_name=True))}
    counts: dict[str, dict[str, int]] = {}

    async def furnish(client: Client) -> None:
        await origins(client)
        wanted: dict[str, Json] = {}
        for change in first.values():
            await plant(client, change, wanted)
        await asyncio.sleep(AGED_S)
        for change in first.values():
            if change.stream is not None or change.before is not None:
                counts[change.name] = await held(client, change)

    run(cluster, furnish)
    (sample, *_) = asyncio.run(record(cluster.url("app"), samples=1))
    text = dump_samples((sample,), f"one server of {version}, a stream for each start of a change")
    (DIRECTORY / f"{version}.json").write_text(text + "\n")
    return counts


def record_answers(version: str, only: Collection[str]) -> None:
    """Record the answers to changes from these starts, from all of them if none is named."""
    path = DIRECTORY / f"{version}.answers.json"
    content: Json = json.loads(path.read_text()) if only else {"tried": {}, "messages": {}, "answers": {}}
    chosen = [change for change in changes(version) if not only or start_of(change) in only]
    for start in {start_of(change): None for change in chosen}:
        content["tried"][start], content["answers"][start] = 0, {}
    if not only:
        with tempfile.TemporaryDirectory() as place, Cluster.launch(Path(place), version, 1, jetstream=ROOM) as cluster:
            content["messages"] = starts(cluster, version)
    with tempfile.TemporaryDirectory() as place, Cluster.launch(Path(place), version, 1, jetstream=ROOM) as cluster:
        for change, verdict in answers(cluster, chosen):
            start = start_of(change)
            content["tried"][start] += 1
            if verdict.refused or verdict.deleted:
                refusal = f"{verdict.code} {verdict.message}".replace(change.name, "{n}")
                content["answers"][start][change.setting] = refusal if verdict.refused else verdict.deleted
    path.write_text(json.dumps(content, indent=0) + "\n")


def main() -> None:
    """Record every version."""
    DIRECTORY.mkdir(exist_ok=True)
    for version in VERSIONS:
        record_answers(version, sys.argv[1:])


if __name__ == "__main__":
    main()

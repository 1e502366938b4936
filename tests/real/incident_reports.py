"""Reading the incidents of a report in JSON: labels of causes and consequences, and what every report must keep."""

import asyncio
from typing import Any

from nats.aio.client import Client

from tests.support.deployment import add_stream, api

Json = dict[str, Any]

LOUD = ("warning", "error", "critical")


async def place_stream(client: Client, name: str, server: str, **config: object) -> None:
    """Add a stream with one copy, on that server.

    The meta leader chooses by the storage that servers reported within the last ten seconds, and of equal ones any.
    """
    for _ in range(60):
        made: Json = await add_stream(client, name, num_replicas=1, **config)
        if made["cluster"]["leader"] == server:
            return
        await api(client, f"STREAM.DELETE.{name}")
        await asyncio.sleep(0.5)
    raise AssertionError(f"a stream with one replica never lands on {server}")


def label(reference: Json) -> str:
    """`JSD403 APP/ORDERS/worker`, or the kind of a subject without a name."""
    subject = reference["subject"]
    parts = [part for part in (subject["account"], subject["stream"], subject["name"]) if part]
    return f"{reference['code']} {'/'.join(parts) or subject['kind']}"


def causes(incident: Json) -> list[str]:
    return [label(cause) for cause in incident["causes"]]


def beneath(incident: Json) -> set[str]:
    return {label(consequence) for consequence in incident["consequences"]}


def shown(report: Json) -> str:
    """The incidents of a report, for the message of a test that fails."""
    lines = (f"{i['severity']} {i['impact']} {causes(i)[:3]} <- {sorted(beneath(i))[:8]}" for i in report["incidents"])
    return "\n".join(lines)


def every_finding_is_in_one_incident(report: Json) -> bool:
    """No finding is lost, and none is counted twice."""
    failed = [r["fingerprint"] for r in report["results"] if r["outcome"] == "fail" and r["suppressed"] is None]
    listed = [finding["fingerprint"] for i in report["incidents"] for finding in (*i["causes"], *i["consequences"])]
    return sorted(failed) == sorted(listed)


def first_is(report: Json, cause: str, *codes: str, place: int = 0) -> None:
    """The incident at that place has that cause, and findings of these rules beneath it."""
    text = shown(report)
    assert every_finding_is_in_one_incident(report), text
    first = report["incidents"][place]
    assert cause in causes(first), text
    assert set(codes) <= {consequence.split()[0] for consequence in beneath(first)}, text
    assert first["first_command"], text
    holding = [
        i
        for i in report["incidents"]
        if any(listed_cause["code"] == cause.split(maxsplit=1)[0] for listed_cause in i["causes"])
    ]
    assert len(holding) == 1, f"a cause is reported twice:\n{text}"

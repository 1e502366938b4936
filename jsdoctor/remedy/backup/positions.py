"""Where consumers stand after a restore, and whether that is where they stood when their backup was taken.

Seen with three servers of 2.15.1: a restored consumer's position is on its leader alone. Where another server leads
it, it begins at 0, or where a deleted consumer of the same name stood.
"""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.model.plan import Json
from jsdoctor.remedy.operation import Api, ApiError, NoResponseError
from jsdoctor.remedy.retry_limit import RetryLimit, is_transient

_LED_S = 30
"""How long the consumers of a restored stream may take to have leaders."""
_PLACES = ("delivered", "ack_floor")


async def all_consumers(api: Api, stream: str) -> list[Json]:
    """CONSUMER.LIST, all pages: one CONSUMER.INFO each."""
    consumers: list[Json] = []
    while True:
        page = await api.ask(f"CONSUMER.LIST.{stream}", {"offset": len(consumers)})
        listed = page.get("consumers") or []
        consumers += listed
        if not listed or len(consumers) >= int(page.get("total") or 0):
            return consumers


def durables(consumers: Iterable[Json]) -> dict[str, Json]:
    """Configuration and position of each durable consumer, by name."""
    return {
        info["name"]: {"config": info["config"], **{place: pair(info, place) for place in _PLACES}}
        for info in consumers
        if (info.get("config") or {}).get("durable_name")
    }


def pair(info: Json, place: str) -> Json:
    """`delivered` or `ack_floor` without the times."""
    return {key: int((info.get(place) or {}).get(key, 0)) for key in ("stream_seq", "consumer_seq")}


async def misplaced(api: Api, stream: str, wanted: dict[str, Json], replaced: Json | None) -> str:
    """The consumer of a restored stream that is not where it stood, as text; empty if there is none.

    `wanted`: the durable consumers right before the backup. A consumer may be ahead, as it may have continued since the
    restore. It is wrong if it is behind what it had acknowledged (from there on, servers since 2.15 restore one with
    messages under way), or at the position of the consumer of that name in the stream that was `replaced`.
    """
    if not wanted:
        return ""
    result = await _led(api, stream, wanted)
    for name, backup in wanted.items():
        if name not in result:
            return f"consumer {name} of the backup is not there"
        now, then, floor = pair(result[name], "delivered"), backup["delivered"], backup["ack_floor"]
        former = (replaced or {}).get(name, {}).get("delivered")
        back = now["consumer_seq"] < floor["consumer_seq"] or now["stream_seq"] < floor["stream_seq"]
        if back or (now not in (then, floor) and former is not None and now == former):
            return (
                f"consumer {name} stands at {now['stream_seq']} (delivery {now['consumer_seq']}), "
                f"in the backup at {then['stream_seq']} (delivery {then['consumer_seq']})"
            )
    return ""


async def _led(api: Api, stream: str, wanted: Iterable[str]) -> dict[str, Json]:
    """The consumers by name, once all of `wanted` exist and have a leader; when the time is over, those that do."""
    limit = RetryLimit(_LED_S)
    while True:
        result: dict[str, Json] = {}
        try:
            result = {info["name"]: info for info in await all_consumers(api, stream) if _has_leader(info)}
        except NoResponseError:
            pass  # the stream has no leader yet
        except ApiError as error:
            if not is_transient(error):
                raise
        if all(name in result for name in wanted) or not await limit.more():
            return result


def _has_leader(info: Json) -> bool:
    return bool((info.get("cluster") or {"leader": "it"}).get("leader"))

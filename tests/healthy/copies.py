"""Healthy mirrors, sources, transforms and republished subjects."""

import itertools
from typing import Any

from tests.healthy.frame import habit
from tests.support.applications import again, publishes, stores, works
from tests.support.site import SECOND_NS, Site


@habit("ORIGIN", publishes("origin.x"))
async def mirror_and_source(site: Site) -> None:
    await site.stream("ORIGIN")
    await site.publish("origin.x")
    await site.stream("ORIGINMIRROR", mirror={"name": "ORIGIN"})
    await site.stream("ORIGINCOPY", sources=[{"name": "ORIGIN", "filter_subject": "origin.>"}])


@habit("RENAMED", publishes("renamed.in.x"))
async def transform_and_republish(site: Site) -> None:
    await site.stream(
        "RENAMED",
        subjects=["renamed.in.>"],
        subject_transform={"src": "renamed.in.>", "dest": "renamed.out.>"},
        republish={"src": ">", "dest": "copy.>"},
    )


@habit("PARTIAL", publishes("partial.paid"))
async def copies_of_a_part(site: Site) -> None:
    """One of a subject that has no message yet, one with transforms, and one that takes larger messages."""
    await site.stream("PARTIAL")
    await site.publish("partial.paid", 5)
    await site.stream("PARTIALREFUNDS", mirror={"name": "PARTIAL", "filter_subject": "partial.refunded"})
    transforms = [{"src": "partial.paid", "dest": "copied.paid"}]
    await site.stream("PARTIALRENAMED", sources=[{"name": "PARTIAL", "subject_transforms": transforms}])
    await site.stream("PARTIALWIDE", mirror={"name": "PARTIAL"}, max_msg_size=2 << 20)


@habit("TALLIES", stores("tallies.a.hits", b"", headers={"Nats-Incr": "1"}), since=(2, 12))
async def counters_that_are_added_up(site: Site) -> None:
    """A source of counters, as regions have it."""
    counting: dict[str, Any] = {"allow_msg_counter": True, "allow_direct": True}
    await site.stream("TALLIES", subjects=["tallies.>"], **counting)
    await site.store("tallies.a.hits", b"", {"Nats-Incr": "1"})
    transforms = [{"src": "tallies.a.>", "dest": "total.>"}]
    await site.stream("TALLIESTOTAL", sources=[{"name": "TALLIES", "subject_transforms": transforms}], **counting)


@habit("FANIN", *(stores(f"fanin.{number}") for number in range(4)), works("FANINALL", "reader"))
async def sources_of_many(site: Site) -> None:
    for number in range(4):
        await site.stream(f"FANIN{number}", subjects=[f"fanin.{number}"])
    await site.stream("FANINALL", sources=[{"name": f"FANIN{number}"} for number in range(4)])
    await site.consumer("FANINALL", "reader")


@habit("CHAIN", stores("chain.x"))
async def mirror_of_a_mirror(site: Site) -> None:
    await site.stream("CHAIN")
    await site.publish("chain.x", 10)
    await site.stream("CHAINNEAR", mirror={"name": "CHAIN"})
    await site.stream("CHAINFAR", mirror={"name": "CHAINNEAR"})


@habit("HANDED", stores("handed.x"), works("HANDEDQUEUE", "worker"))
async def work_queue_that_sources_from_a_log(site: Site) -> None:
    await site.stream("HANDED")
    await site.stream("HANDEDQUEUE", sources=[{"name": "HANDED"}], retention="workqueue")
    await site.consumer("HANDEDQUEUE", "worker")


async def publish_to_all(site: Site) -> None:
    for region, number in itertools.product(("eu", "us"), range(3)):
        await site.store(f"mapped.{region}.{number}", b"x")


@habit("MAPPED", again(publish_to_all, 0.2), works("MAPPED", "reader"))
async def partitions_by_a_transform(site: Site) -> None:
    transform = {"src": "mapped.*.*", "dest": "parts.{{partition(4,1,2)}}.{{wildcard(1)}}.{{wildcard(2)}}"}
    await site.stream("MAPPED", subject_transform=transform)
    await site.consumer("MAPPED", "reader")


@habit("BRIDGED", stores("bridged.x"), apart=True)
async def stream_that_another_account_copies(site: Site) -> None:
    await site.stream("BRIDGED")
    await site.publish("bridged.x", 20)


@habit("BRIDGECOPY", works("BRIDGECOPY", "reader"), apart=True)
async def copy_of_a_stream_of_another_account(site: Site) -> None:
    external = {"api": "JS.APP.API", "deliver": "bridge.shop"}
    await site.stream("BRIDGECOPY", sources=[{"name": "BRIDGED", "external": external}])
    await site.consumer("BRIDGECOPY", "reader")


@habit("SINCE", stores("since.new"))
async def copies_that_start_later(site: Site) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/source_and_mirror: from a time, from a sequence, of a part."""
    await site.stream("SINCE")
    await site.publish("since.old", 100)
    await site.stream("SINCETIME", sources=[{"name": "SINCE", "opt_start_time": "2026-01-01T00:00:00Z"}])
    await site.stream("SINCESEQUENCE", sources=[{"name": "SINCE", "opt_start_seq": 50, "filter_subject": "since.*"}])
    await site.stream("SINCEMIRROR", mirror={"name": "SINCE", "opt_start_seq": 90})


@habit("TWICE", stores("twice.paid"), stores("twice.sent"), works("TWICECOPY", "reader"))
async def two_sources_of_one_stream(site: Site) -> None:
    """Each with a filter, and a name for what it copies."""
    await site.stream("TWICE")
    sources = [
        {"name": "TWICE", "subject_transforms": [{"src": f"twice.{kind}", "dest": f"twicecopy.{kind}"}]}
        for kind in ("paid", "sent")
    ]
    await site.stream("TWICECOPY", sources=sources)
    await site.consumer("TWICECOPY", "reader")


@habit("H_EAST", publishes("h_east.local.x"), publishes("h_west.local.x"), works("H_EAST", "reader"))
async def two_streams_that_source_each_other(site: Site) -> None:
    """https://github.com/nats-io/nats-server/pull/3825: each takes what is local to the other."""
    await site.stream("H_EAST", subjects=["h_east.local.>"])
    source = {"name": "H_EAST", "filter_subject": "h_east.local.>"}
    await site.stream("H_WEST", subjects=["h_west.local.>"], sources=[source], duplicate_window=60 * SECOND_NS)
    info = await site.api("STREAM.INFO.H_EAST")
    back = {"name": "H_WEST", "filter_subject": "h_west.local.>"}
    await site.api("STREAM.UPDATE.H_EAST", {**info["config"], "sources": [back]})
    await site.consumer("H_EAST", "reader")


@habit("H_CHAIN", stores("h_chain.raw.x"), works("H_CHAINED", "reader"))
async def stream_that_republishes_into_another(site: Site) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/streams: `republish`, to the next stage and on to a dashboard."""
    to_stage = {"src": "h_chain.raw.>", "dest": "h_chained.>"}
    await site.stream("H_CHAIN", subjects=["h_chain.raw.>"], republish=to_stage)
    await site.stream("H_CHAINED", republish={"src": "h_chained.>", "dest": "h_dash.>"})
    await site.consumer("H_CHAINED", "reader")

"""A scan and nothing else, to its evidence. Arguments: URL STREAM N."""

import asyncio
import sys
from pathlib import Path

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.stored import ScanTarget
from jsdoctor.replies.stored import stored_messages
from jsdoctor.sources.connect.connection import connect
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.settings import resolve
from jsdoctor.sources.scan.scan import scan_streams
from jsdoctor.sources.servers.collection_result import CollectionResult, no_progress


async def main(url: str, stream: str, messages: int) -> None:
    """Read, pack, unpack, look: fails unless every message was seen."""
    collection = CollectionResult()
    plan = CollectionPlan(scan=(ScanTarget(stream, messages),))
    async with connect(resolve(ConnectionOptions(server=url), {}, Path("/nonexistent"))) as connection:
        await scan_streams(connection, "$JS.API", plan, collection, no_progress)
    stored, gaps = stored_messages(collection.exchanges, "")
    messages_read = sum(stored_stream.messages for stored_stream in stored.streams) if stored else 0
    if messages_read != messages or collection.gaps or gaps:
        sys.exit(
            f"{messages_read:,} of {messages:,} messages were read: {[gap.reason for gap in (*collection.gaps, *gaps)]}"
        )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))

"""Every declared healthy deployment, busy and idle, through each of its logins: nothing at warning or above, no gap.

Declared before the first run: all of them are healthy.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from tests.servers import VERSIONS
from tests.topologies.glances import glances
from tests.topologies.healthy import SAMPLES, at_work, furnish
from tests.topologies.landscape import Landscape
from tests.topologies.states import Setting, State
from tests.topologies.states_commonest import COMMONEST_STATES
from tests.topologies.states_of_examples import EXAMPLE_STATES
from tests.topologies.states_of_links import LINK_STATES
from tests.topologies.states_of_projects import LAST_STATES, PROJECT_STATES
from tests.topologies.states_of_servers import SERVER_STATES
from tests.topologies.states_unusual import UNUSUAL_STATES

pytestmark = [
    pytest.mark.real,
    pytest.mark.nightly,
    pytest.mark.xdist_group("topologies"),
    pytest.mark.filterwarnings("ignore:parameter 'timeout' of type 'float' is deprecated"),  # nats-py to aiohttp
]
SETTLED_S = 3
TABLES = {
    "servers": SERVER_STATES,
    "links": LINK_STATES,
    "projects": PROJECT_STATES,
    "last": LAST_STATES,
    "examples": EXAMPLE_STATES,
    "unusual": UNUSUAL_STATES,
    "commonest": COMMONEST_STATES,
}
CASES = [
    pytest.param(version, state, id=f"{version}-{state.name}")
    for version in VERSIONS
    for table in TABLES.values()
    for state in table
    if state.fits(version)
]


async def busy_and_idle(setting: Setting, version: str) -> dict[str, list[str]]:
    """What is wrong while all applications work, and after they have stopped."""
    for application in setting.applications:
        await furnish(
            application.url,
            application.replicas,
            [habit for habit in application.chosen if habit.fits(version)],
            **application.login,
        )
    async with contextlib.AsyncExitStack() as stack:
        ends = [
            await stack.enter_async_context(
                at_work(
                    application.url,
                    application.replicas,
                    [habit for habit in application.chosen if habit.fits(version)],
                    **application.login,
                )
            )
            for application in setting.applications
        ]
        busy = await asyncio.to_thread(glances, setting.logins, SAMPLES)
        for end in ends:
            await end()
        await asyncio.sleep(SETTLED_S)
        return {"busy": busy, "idle": await asyncio.to_thread(glances, setting.logins, SAMPLES)}


@pytest.mark.parametrize(("version", "state"), CASES)
def test_nothing_is_found(tmp_path: Path, version: str, state: State) -> None:
    with Landscape(tmp_path, version) as land:
        problems = asyncio.run(busy_and_idle(state.build(land), version))
        assert not any(problems.values()), "\n".join(
            f"{when}: {problem}" for when, listed in problems.items() for problem in listed
        )

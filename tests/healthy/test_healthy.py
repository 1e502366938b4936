"""Every habit and every deployment of the tables, idle and busy, through each of its logins: nothing is found."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.healthy.frame import Setting, State, at_work, furnish, glances, habits, of_habits, states, usual
from tests.servers import VERSIONS
from tests.servers.deployments import cluster, single
from tests.servers.landscape import Landscape

pytestmark = [
    pytest.mark.real,
    pytest.mark.nightly,
    pytest.mark.xdist_group("healthy"),
    pytest.mark.filterwarnings("ignore:parameter 'timeout' of type 'float' is deprecated"),  # nats-py to aiohttp
]
QUIET_S = 62
"""So long nobody works on what batch jobs have to do: past the shortest threshold of rules that judge activity."""
SETTLED_S = 3
TABLES = sorted({habit.table for habit in habits()})


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("shape", [single, cluster], ids=["single", "cluster"])
@pytest.mark.parametrize("version", VERSIONS)
def test_habits(tmp_path: Path, version: str, shape: Callable[[Landscape], list[str]], table: str) -> None:
    """Every habit of a table beside every other."""
    names = tuple(habit.name for habit in habits() if habit.table == table and not habit.apart)
    with Landscape(tmp_path, version) as land:
        _finds_nothing(usual(land, shape(land), names), version, QUIET_S)


@pytest.mark.parametrize(
    ("version", "state"),
    [
        pytest.param(version, state, id=f"{version}-{state.build.__name__}")
        for version in VERSIONS
        for state in states()
        if state.fits(version)
    ],
)
def test_states(tmp_path: Path, version: str, state: State) -> None:
    with Landscape(tmp_path, version) as land:
        _finds_nothing(state.build(land), version, SETTLED_S)


def _finds_nothing(setting: Setting, version: str, settled_s: float) -> None:
    by_moment = asyncio.run(_busy_and_idle(setting, version, settled_s))
    assert not any(by_moment.values()), "\n".join(f"{when}: {p}" for when, listed in by_moment.items() for p in listed)


async def _busy_and_idle(setting: Setting, version: str, settled_s: float) -> dict[str, list[str]]:
    """What is wrong while all applications work, and after they have stopped."""
    working = [
        ((a.url, a.replicas, [habit for habit in of_habits(*a.habits) if habit.fits(version)]), a.login)
        for a in setting.applications
    ]
    for arguments, login in working:
        await furnish(*arguments, **login)
    async with contextlib.AsyncExitStack() as stack:
        ends = [await stack.enter_async_context(at_work(*arguments, **login)) for arguments, login in working]
        busy = await asyncio.to_thread(glances, setting.logins)
        for end in ends:
            await end()
        await asyncio.sleep(settled_s)
        return {"busy": busy, "idle": await asyncio.to_thread(glances, setting.logins)}

"""Accounts of operator mode are asked for one by one: as many as an operator can wait for, and the rest is told."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import nats
import nkeys
import pytest
from nats.aio.client import Client

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.account_claims import AccountClaims
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import Outcome
from jsdoctor.redaction.redact import redact
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.connect.connection import connect
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.settings import resolve
from jsdoctor.sources.sampling import gather
from jsdoctor.sources.servers.per_account import MAX_CLAIMS
from tests.sources.conftest import StartServer
from tests.sources.looking import NIGHTLY_UNLESS_DEFAULT, bodies
from tests.sources.operator_mode import Key, Operator, creds
from tests.support.ruleset import run_rule
from tests.support.samples import severities

CROWD = MAX_CLAIMS + 6


async def _collect(options: ConnectionOptions, directory: Path, monitors: Sequence[str] = ()) -> tuple[Sample, ...]:
    async with connect(resolve(options, {}, directory)) as connection:
        return await gather(connection, monitors, CollectionPlan(samples=1))


def test_of_many_accounts_some_are_requested(start_server: StartServer, tmp_path: Path) -> None:
    operator = Operator({"conn": 5})
    accounts = [Key(nkeys.PREFIX_BYTE_ACCOUNT) for _ in range(CROWD)]
    preload = "resolver_preload: {\n"
    more = "".join(f"  {key.public}: {operator._account(key, f'A{n}')}\n" for n, key in enumerate(accounts))
    server = start_server(operator.config.replace(preload, preload + more) + "http: '127.0.0.1:-1'\n")
    url, monitor = f"nats://127.0.0.1:{server.port}", f"http://127.0.0.1:{server.ports['monitoring']}"
    (tmp_path / "sys").write_text(creds(*operator.user(operator.system)))
    options = ConnectionOptions(server=url, creds=str(tmp_path / "sys"))

    async def visit() -> tuple[Sample, Sample]:
        (few,) = await _collect(options, tmp_path, [monitor])
        clients = []
        for number, key in enumerate((operator.app, *accounts)):  # a server learns of an account by its first client
            path = tmp_path / str(number)
            path.write_text(creds(*operator.user(key)))
            clients.append(await nats.connect(url, user_credentials=str(path)))
        try:
            (many,) = await _collect(options, tmp_path, [monitor])
        finally:
            for client in clients:
                await client.close()
        return few, many

    few, many = asyncio.run(visit())
    assert not [gap for gap in few.gaps if gap.kind == "accounts"]
    # The lists, and one reply for each account, of both ways in.
    assert len(bodies(many, "ACCOUNTZ")) == 2 * (1 + MAX_CLAIMS)
    account_gaps = [gap for gap in many.gaps if gap.kind == "accounts"]
    assert [f"of {CROWD + 2}" in gap.reason for gap in account_gaps] == [True, True]
    assert not any(gap.requested for gap in account_gaps)
    claims = assemble([many]).get(AccountClaims)
    assert claims is not None
    assert len(claims.uses) == MAX_CLAIMS
    assert {use.clients for use in claims.uses} <= {0, 1}


def test_accounts_of_a_configuration_file_have_no_claims(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server("system_account: SYS\naccounts { SYS: { users: [{user: sys, password: sys}] } }\n")

    async def collect() -> tuple[Sample, ...]:
        options = ConnectionOptions(server=f"nats://sys:sys@127.0.0.1:{server.port}")
        async with connect(resolve(options, {}, tmp_path)) as connection:
            return await gather(connection, (), CollectionPlan(samples=1))

    (sample,) = asyncio.run(collect())
    assert len(bodies(sample, "ACCOUNTZ")) == 1
    assert assemble([sample]).get(AccountClaims) == AccountClaims(())


def test_a_bundle_keeps_the_account_of_a_login_that_failed(start_server: StartServer, tmp_path: Path) -> None:
    """It has no JWT, and JSD822 reports from it what it reports live."""
    operator, stranger = Operator(jetstream=True), Key(nkeys.PREFIX_BYTE_ACCOUNT)
    server = start_server(operator.config)
    url = f"nats://127.0.0.1:{server.port}"
    (tmp_path / "sys").write_text(creds(*operator.user(operator.system)))
    jwt, seed = operator.user(stranger)
    (tmp_path / "stranger").write_text(creds(jwt, seed))

    async def visit() -> tuple[Sample, ...]:
        for _ in range(3):
            client = Client()
            with pytest.raises(nats.errors.Error):
                await client.connect(url, user_credentials=str(tmp_path / "stranger"), allow_reconnect=False)
            await client.close()
        return await _collect(ConnectionOptions(server=url, creds=str(tmp_path / "sys")), tmp_path)

    live = asyncio.run(visit())
    kept = redact(live).samples
    assert [list(severities("JSD822", samples).values()) for samples in (live, kept)] == [["warning"]] * 2
    payload = jwt.split(".")[1]
    assert [
        any(payload in text for text in map(str, bodies(samples[0], "CONNZ.closed"))) for samples in (live, kept)
    ] == [True, False]


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_limits_by_tier_are_shown_to_the_account_only(version: str, start_server: StartServer, tmp_path: Path) -> None:
    """JSZ shows 0 for them, which is not the same as no limit: the system account alone passes nothing."""
    tier = {"disk_storage": 1 << 20, "mem_storage": 1 << 20, "streams": 10, "consumer": 50}
    operator = Operator(jetstream=True, tiers={"R1": tier})
    server = start_server(operator.config + f"jetstream {{ store_dir: '{tmp_path}' }}\n", version)
    for name, account in (("sys", operator.system), ("app", operator.app)):
        (tmp_path / name).write_text(creds(*operator.user(account)))

    async def visit() -> dict[str, Sample]:
        url = f"nats://127.0.0.1:{server.port}"
        client = await nats.connect(url, user_credentials=str(tmp_path / "app"))
        await client.jetstream().add_stream(name="EVENTS", subjects=["events"], num_replicas=1)
        for _ in range(9):
            await client.jetstream().publish("events", b"x" * 100_000)
        await client.close()
        options = {name: ConnectionOptions(server=url, creds=str(tmp_path / name)) for name in ("sys", "app")}
        return {name: (await _collect(each, tmp_path))[0] for name, each in options.items()}

    verdicts = {
        name: [result.finding for result in run_rule("JSD802", assemble([sample])).results]
        for name, sample in asyncio.run(visit()).items()
    }
    (unknown,) = [finding for finding in verdicts["sys"] if finding.subject.kind == "account"]
    assert unknown.outcome is Outcome.NOT_EVALUATED
    assert "a login of the account" in unknown.how_to_get
    assert [finding.outcome for finding in verdicts["app"]] == [Outcome.FAIL]

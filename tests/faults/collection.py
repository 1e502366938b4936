"""Faults that keep the evidence away."""

from tests.faults.planting import fault
from tests.servers.deployments import single
from tests.servers.landscape import ACCOUNTS, Landscape


@fault("JSD901", "APP")
def account_for_which_jetstream_was_never_enabled(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/2367, https://github.com/nats-io/nats-server/issues/2697: 10039."""
    single(land, accounts=ACCOUNTS.replace(", jetstream: enabled", ""))
    return land.url()

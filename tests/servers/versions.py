"""Which nats-server version a collected test runs on, by its parameters."""

import pytest

from tests.servers.binaries import VERSIONS


def parameter_version(item: pytest.Item) -> str | None:
    """The first server version among the parameters of a test, also within a tuple; None where there is none."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    flat = [
        value for parameter in parameters for value in (parameter if isinstance(parameter, tuple) else (parameter,))
    ]
    return next((value for value in flat if isinstance(value, str) and value in VERSIONS), None)

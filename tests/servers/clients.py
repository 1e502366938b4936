"""nats-py's client as tests use it: a failed reconnect leaves no socket behind.

When a server accepts a connection and hangs up before it has answered CONNECT, as one that is starting or stopping
does, nats-py 2.16 replaces the connection without closing it (`Client._attempt_reconnect`). The socket is closed
when it is collected, with a ResourceWarning in whatever test runs then. jsdoctor brings the connection of its client
itself, so only a reconnect gives one up.
"""

from nats.aio.client import Client

_select_next_server = Client._select_next_server


async def _close_and_select(self: Client) -> None:
    if self._transport is not None and self.is_reconnecting:
        self._transport.close()  # type: ignore[no-untyped-call] # nats-py leaves it without annotations
    await _select_next_server(self)


def close_abandoned_connections() -> None:
    """From now on every client of this process closes a connection that it gives up."""
    Client._select_next_server = _close_and_select  # type: ignore[method-assign]

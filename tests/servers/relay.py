"""A path between two servers that are far apart, or that breaks again and again: a relay between two ports."""

import asyncio
import contextlib
import threading


class Relay:
    """Listens on `port` of the loopback and passes bytes to `target`, each `delay_s` after it came.

    With `lasts_s`, all its connections end every so many seconds.
    """

    def __init__(self, port: int, target: int, *, delay_s: float = 0.0, lasts_s: float = 0.0) -> None:
        self._port, self._target, self._delay_s, self._lasts_s = port, target, delay_s, lasts_s
        self._loop = asyncio.new_event_loop()
        self._ends: list[asyncio.StreamWriter] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def close(self) -> None:
        """End all connections, and accept no more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", self._port))
        if self._lasts_s:
            self._loop.call_later(self._lasts_s, self._cut)
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._end_all()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _cut(self) -> None:
        self._end_all()
        self._loop.call_later(self._lasts_s, self._cut)

    def _end_all(self) -> None:
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()

    async def _accept(self, near: asyncio.StreamReader, to_near: asyncio.StreamWriter) -> None:
        try:
            far, to_far = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            to_near.close()
            return
        self._ends += [to_near, to_far]
        await asyncio.gather(self._pass_on(near, to_far), self._pass_on(far, to_near))

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                self._loop.call_later(self._delay_s, _write, sink, data)
        self._loop.call_later(self._delay_s, sink.close)


def _write(sink: asyncio.StreamWriter, data: bytes) -> None:
    if not sink.is_closing():
        sink.write(data)

"""Runs one command in a process of its own: a call that takes too long is ended, and its memory is freed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jsdoctor.collect.problems import Problem

_MAX_OUTPUT = 64 << 20
_GRACE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command printed, and its exit code."""

    code: int
    output: str
    errors: str


async def run_command(arguments: Sequence[str], seconds: float, env: Mapping[str, str]) -> Finished:
    """Run `jsdoctor` with these arguments. Raises `Problem` when it takes too long or prints too much."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "jsdoctor",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env=env,
    )
    try:
        async with asyncio.timeout(seconds):
            output, errors = await asyncio.gather(_read(process.stdout), _read(process.stderr))
            code = await process.wait()
    except TimeoutError:
        raise Problem(
            f"the call took longer than {seconds:g} s and was ended",
            "request less (fewer files, a shorter time, fewer rules), or start the server with a longer --max-time",
        ) from None
    finally:
        await _end(process)
    return Finished(code, output, errors)


async def _read(stream: asyncio.StreamReader | None) -> str:
    """All that a command prints."""
    content = bytearray()
    while stream is not None and (block := await stream.read(1 << 16)):
        content += block
        if len(content) > _MAX_OUTPUT:
            raise Problem("the report is longer than 64 MiB", "request fewer rules or files")
    return content.decode(errors="replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a command that still runs, with its workers. An interrupted one removes its temporary files itself."""
    if process.returncode is not None:
        return
    _signal(process.pid, signal.SIGINT)
    try:
        async with asyncio.timeout(_GRACE_SECONDS):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        if process.returncode is None:
            _kill(process)


def _kill(process: asyncio.subprocess.Process) -> None:
    if hasattr(signal, "SIGKILL"):
        _signal(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _signal(group: int, number: signal.Signals) -> None:
    """To the whole process group, where there are process groups."""
    try:
        os.killpg(group, number) if hasattr(os, "killpg") else os.kill(group, signal.SIGTERM)
    except ProcessLookupError:
        return

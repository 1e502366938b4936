"""`jsdoctor demo`: a real server, faults planted in it, and the check that finds them."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from jsdoctor.app.outputs import Color
from jsdoctor.app.request import JudgeRequest
from jsdoctor.cli.check_run import run_check
from jsdoctor.cli.console import say
from jsdoctor.demo.faults import CONFIG, FAULTS, plant_all
from jsdoctor.demo.server import NatsServer, find_binary
from jsdoctor.engine.verdict import ExitCode, NagiosState
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.request import EvidenceRequest


def run_demo(keep: bool, verbose: int, color: Color) -> ExitCode | NagiosState:
    """Start, plant, check, stop. Ends with 0 if the check ran and reported findings, which are the success here."""
    binary = find_binary()
    with (
        tempfile.TemporaryDirectory(prefix="jsdoctor-demo-") as directory,
        NatsServer.start(binary, CONFIG, Path(directory)) as server,
    ):
        say(f"a real nats-server runs at {server.url}; these faults are planted in it:")
        for fault in FAULTS:
            sys.stderr.write(f"  {fault.subject:24} {fault.story}\n")
        plant_all(_with_login(server.url, "shop"))
        system, shop = (_context(Path(directory), name, server.url) for name in ("sys", "shop"))
        command = f"jsdoctor check --context {system} --context {shop}"  # to be copied, as the commands in the report
        sys.stderr.write(f"\n$ {command}\n\n")
        judge = JudgeRequest(verbose=verbose, color=color, isolated=True)
        code = run_check(judge, EvidenceRequest(connection=ConnectionOptions(context=system, more_contexts=(shop,))))
        sys.stderr.write(f"\n(exit code {int(code)}: {code.name.lower()})\n")
        if keep:
            say("the server stays until you press Ctrl-C")
            sys.stderr.write(f"  {command}\n")
            while server.running:
                time.sleep(0.5)
    return ExitCode.OK if code is ExitCode.FINDINGS else code


def _context(directory: Path, name: str, url: str) -> str:
    """The file of a nats context with that login: `nats` and jsdoctor take it after `--context`."""
    path = directory / f"{name}.json"
    path.write_text(json.dumps({"url": url, "user": name, "password": name}))
    return str(path)


def _with_login(url: str, name: str) -> str:
    return url.replace("://", f"://{name}:{name}@", 1)

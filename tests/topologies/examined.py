"""What `jsdoctor check` reports of a deployment of the tables of faults."""

from __future__ import annotations

from pathlib import Path

from tests.real.outage import Json
from tests.real.ward import run_check
from tests.topologies.faults_of_deployments import Broken
from tests.topologies.landscape import Landscape


def report_on(directory: Path, version: str, broken: Broken) -> Json:
    """Build it below an empty directory and check it, with the logs of its servers where the fault is declared so.

    A deployment that nobody can log in to gives the address of a monitoring port in place of a login.
    """
    with Landscape(directory, version) as land:
        login = broken.build(land)
        access = "--monitor" if login.startswith("http") else "--server"
        logs = [f"--logs={path}" for path in directory.glob("*/*.log")] if broken.logs else []
        _, report = run_check("--isolated", access, login, *logs, *broken.options)
    return report

"""Ports for servers of tests: each process of a run has its own, so that no two choose the same at the same time."""

import os

from jsdoctor.demo import server


def use_own_ports() -> None:
    """From now on `free_ports` chooses in this process from a range that no other process of the same run has."""
    worker, workers = os.environ.get("PYTEST_XDIST_WORKER", ""), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    first, end = server._PORT_RANGE
    size = (end - first) // workers
    own = first + size * int(worker.removeprefix("gw") or 0)
    server._PORT_RANGE = (own, own + size)

"""Logs of services beside those that were named: Loki's, else those of the pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from msgspec.structs import replace

from jsdoctor.app.evidence_request import EvidenceRequest
from jsdoctor.app.logs.options import LogRequest
from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.window import Window

_BY_LOKI = Gap(
    "log",
    CLUSTER,
    "the logs of the pods were not read, as --loki has those of the same servers for longer",
    "leave --loki away to read them from the pods",
    requested=False,
)


@contextmanager
def with_service_logs(
    wanted: EvidenceRequest,
    settings: Callable[[], ConnectionSettings],
    logs: LogRequest | None,
    window: Window | None,
    show: Callable[[str], None],
) -> Iterator[LogRequest | None]:
    """The request for logs with those of services, which are files while the context lasts."""
    with ExitStack() as files:
        if wanted.loki is not None:
            from jsdoctor.app.loki.reading import with_loki_logs

            logs = files.enter_context(with_loki_logs(wanted.loki, settings(), logs, window, show))
            if wanted.kube is not None:
                logs = replace(logs, gaps=(*logs.gaps, _BY_LOKI))
        elif wanted.kube is not None:
            from jsdoctor.app.kube.reading import with_kube_logs

            logs = files.enter_context(with_kube_logs(wanted.kube, logs, window, show))
        yield logs

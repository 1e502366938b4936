"""The options about services beside servers: Prometheus and Loki, which keep metrics and logs, and Kubernetes."""

from __future__ import annotations

from typing import Annotated

import typer

from jsdoctor.cli.option_values import positive_seconds

Prometheus = Annotated[
    str | None,
    typer.Option(
        "--prometheus",
        metavar="URL",
        help="Prometheus with metrics of NATS exporters: alone the evidence, beside a login its history.",
    ),
]
PrometheusToken = Annotated[
    str | None,
    typer.Option(
        "--prometheus-token", metavar="TOKEN", help="Bearer token. [env: PROMETHEUS_TOKEN]", show_default=False
    ),
]
PrometheusHeader = Annotated[
    list[str] | None,
    typer.Option(
        "--prometheus-header",
        metavar="NAME: VALUE",
        help="Header of each request, e.g. 'X-Scope-OrgID: team'. Can be repeated.",
    ),
]
PrometheusMatch = Annotated[
    str | None,
    typer.Option(
        "--prometheus-match", metavar="MATCHERS", help="Label matchers that choose one deployment, e.g. 'job=\"nats\"'."
    ),
]
PrometheusSince = Annotated[
    float | None,
    typer.Option(
        "--prometheus-since",
        parser=positive_seconds,
        metavar="DURATION",
        help="How far the history goes back, e.g. 72h. [default: 24h]",
    ),
]
Loki = Annotated[
    str | None,
    typer.Option(
        "--loki", metavar="URL", help="Loki with log lines of NATS, alone or with other evidence; needs --loki-query."
    ),
]
LokiQuery = Annotated[
    str | None,
    typer.Option(
        "--loki-query",
        metavar="LOGQL",
        help="Log query for the lines of NATS, e.g. '{app=\"nats\"}'; of the last hour unless --since is given.",
    ),
]
LokiToken = Annotated[
    str | None,
    typer.Option("--loki-token", metavar="TOKEN", help="Bearer token. [env: LOKI_BEARER_TOKEN]", show_default=False),
]
LokiHeader = Annotated[
    list[str] | None,
    typer.Option(
        "--loki-header",
        metavar="NAME: VALUE",
        help="Header of each request, e.g. 'X-Scope-OrgID: team'. Can be repeated.",
    ),
]
LokiLabel = Annotated[
    list[str] | None,
    typer.Option(
        "--loki-label", metavar="LABEL", help="Label that distinguishes servers. Can be repeated. [default: found out]"
    ),
]
Kube = Annotated[
    bool,
    typer.Option(
        "--kube", help="Look at the NATS pods of Kubernetes: objects, monitoring ports and logs, with kubectl."
    ),
]
KubeNamespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAMESPACE", help="Namespace for --kube. [default: that of the context]"),
]
KubeContext = Annotated[
    str | None,
    typer.Option(
        "--kube-context", metavar="NAME", help="Context of the kubeconfig for --kube. [default: the current one]"
    ),
]
ShowQueries = Annotated[bool, typer.Option("--show-queries", help="Print each query to Prometheus and Loki on stderr.")]

"""`jsdoctor mcp` as typer sees it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jsdoctor.cli import options as opt
from jsdoctor.cli.option_groups import AsText, Given, takes
from jsdoctor.collect.connect.options import ConnectionOptions
from jsdoctor.model.option import arguments_of
from jsdoctor.sources.request import LiveRequest, LokiRequest, evidence_request

if TYPE_CHECKING:
    from jsdoctor.cli.mcp.settings import McpSettings
    from jsdoctor.engine.verdict import ExitCode

MCP_HELP = """Serve the read-only commands as tools of the Model Context Protocol, over stdin and stdout.

The tools are check, diagnose, explain, audit and rules_list. Clients choose rules and files, never a server or a login.

\b
Examples:
  jsdoctor mcp --context prod-sys               the deployment of this context
  jsdoctor mcp --monitor http://host:8222       HTTP monitoring
  jsdoctor mcp --root /var/log/nats             files below this directory, too
  jsdoctor mcp --loki http://loki:3100 --loki-query '{app="nats"}'     log lines in Loki, too
"""

_Roots = Annotated[
    list[Path] | None,
    typer.Option("--root", metavar="DIR", help="Tools may read files below this directory. Can be repeated."),
]
_MaxTime = Annotated[
    float,
    typer.Option("--max-time", parser=opt.positive_seconds, metavar="DURATION", help="Most time for one call."),
]
_MaxBytes = Annotated[
    int, typer.Option("--max-bytes", min=2_000, metavar="N", help="Size limit of the reply to one call, in bytes.")
]


@takes(AsText(ConnectionOptions, ("server", "context")), AsText(LiveRequest, ("monitor",)), AsText(LokiRequest))
def mcp(
    given: Given,
    root: _Roots = None,
    max_time: _MaxTime = 60.0,
    max_bytes: _MaxBytes = 50_000,
    config: opt.Config = None,
    isolated: opt.Isolated = False,
    environment: opt.EnvironmentName = "",
) -> None:
    """Serve tools; its help is MCP_HELP, where lines can be kept as they are."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.cli.mcp.settings import McpSettings

        evidence_request(given)  # what does not fit is refused now
        configuration = [f"--config={config.absolute()}"] if config else []
        configuration += ["--isolated"] * isolated
        configuration += ["--environment", environment] if environment else []
        return _serve(
            McpSettings(
                connection=(*arguments_of(ConnectionOptions, given), *arguments_of(LiveRequest, given)),
                loki=arguments_of(LokiRequest, {**given, "loki_token": None}),
                loki_token=given["loki_token"] or "",
                configuration=tuple(configuration),
                roots=tuple(_directory(path) for path in root or ()),
                seconds=max_time,
                answer_bytes=max_bytes,
            )
        )

    raise typer.Exit(guarded(work))


def _directory(path: Path) -> Path:
    from jsdoctor.collect.problems import UsageProblem

    if not path.is_dir():
        raise UsageProblem(f"--root {path} is no directory", "name a directory that exists")
    return path.resolve()


def _serve(settings: McpSettings) -> ExitCode:
    from jsdoctor.collect.problems import UsageProblem
    from jsdoctor.engine.verdict import ExitCode

    try:
        from jsdoctor.cli.mcp.server import mcp_server
    except ImportError as error:
        raise UsageProblem(
            f"the Model Context Protocol needs its SDK, and {error.name} is not installed",
            "pip install 'jsdoctor[mcp]'",
        ) from error
    mcp_server(settings).run()
    return ExitCode.OK

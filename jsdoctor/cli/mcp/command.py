"""`jsdoctor mcp` as typer sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from jsdoctor.app.request import ConfigurationRequest
from jsdoctor.cli.mcp.settings import McpRequest
from jsdoctor.cli.option_groups import Given, OptionsOf, takes
from jsdoctor.cli.requests import wanted_evidence
from jsdoctor.model.option import arguments_of, request_from
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.request import LiveRequest, LokiRequest

if TYPE_CHECKING:
    from jsdoctor.cli.mcp.settings import McpSettings
    from jsdoctor.engine.verdict import ExitCode

MCP_HELP = """Serve the read-only commands as tools of the Model Context Protocol, over stdin and stdout.

The tools are check, diagnose, preflight, explain, audit and rules_list. Clients choose rules and files, never a server
or a login.

\b
Examples:
  jsdoctor mcp --context prod-sys               the deployment of this context
  jsdoctor mcp --monitor http://host:8222       HTTP monitoring
  jsdoctor mcp --root /var/log/nats             files below this directory, too
  jsdoctor mcp --loki http://loki:3100 --loki-query '{app="nats"}'     log lines in Loki, too
"""

_AS_TYPED = False
"""Not parsed: the options are passed on as they were typed to the commands that the tools start."""


@takes(
    McpRequest,
    OptionsOf(ConnectionOptions, ("server", "context"), _AS_TYPED),
    OptionsOf(LiveRequest, ("monitor",), _AS_TYPED),
    OptionsOf(LokiRequest, (), _AS_TYPED),
    OptionsOf(ConfigurationRequest, (), _AS_TYPED),
)
def mcp(given: Given) -> None:
    """Serve tools; its help is MCP_HELP, where lines can be kept as they are."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.cli.mcp.settings import McpSettings

        wanted_evidence(given)  # what does not fit is refused now
        return _serve(
            McpSettings(
                connection=(*arguments_of(ConnectionOptions, given), *arguments_of(LiveRequest, given)),
                loki=arguments_of(LokiRequest, {**given, "loki_token": None}),
                loki_token=given["loki_token"] or "",
                configuration=arguments_of(ConfigurationRequest, given),
                **vars(request_from(McpRequest, given)),
            )
        )

    raise typer.Exit(guarded(work))


def _serve(settings: McpSettings) -> ExitCode:
    from jsdoctor.engine.verdict import ExitCode
    from jsdoctor.model.problems import UsageProblem

    try:
        from jsdoctor.cli.mcp.server import mcp_server
    except ImportError as error:
        raise UsageProblem(
            f"the Model Context Protocol needs its SDK, and {error.name} is not installed",
            "pip install 'jsdoctor[mcp]'",
        ) from error
    mcp_server(settings).run()
    return ExitCode.OK

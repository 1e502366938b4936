"""The tools: typed parameters become the arguments of a command, and its JSON becomes the result."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any

from pydantic import Field

from jsdoctor.app.loki.options import TOKEN_VARIABLE
from jsdoctor.cli.mcp.child import Finished, run_command
from jsdoctor.cli.mcp.paths import allowed_path
from jsdoctor.cli.mcp.settings import McpSettings
from jsdoctor.cli.mcp.shortened import answer
from jsdoctor.collect.problems import Problem, UsageProblem
from jsdoctor.parse.scrubbed import scrubbed

_REPORTS = (0, 1, 3)
"""Exit codes of runs that end with a report."""

_WORD = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
_TIME = r"^[0-9][0-9A-Za-z:.+-]{0,39}$"
_NAME = r"^[^\x00-\x1f]{1,255}$"

Rules = Annotated[
    list[Annotated[str, Field(pattern=_WORD)]] | None,
    Field(
        max_length=50,
        description="Rules to apply: codes (JSD403), the start of codes (JSD4) or slugs. All if left out.",
    ),
]
Paths = Annotated[list[str], Field(max_length=50)]
LogPaths = Annotated[Paths | None, Field(description="Log files or directories below the server's directories.")]
Time = Annotated[str | None, Field(pattern=_TIME, description="2h (ago), or an ISO time.")]
Loki = Annotated[
    bool, Field(description="Also read the log lines that Loki keeps, of the last hour unless `since` is given.")
]
Name = Annotated[str | None, Field(pattern=_NAME)]

Tool = Callable[..., Coroutine[Any, Any, str]]


class Tools:
    """The five tools. Each starts a read-only command and returns its JSON, shortened and without secrets."""

    def __init__(self, settings: McpSettings) -> None:
        self._settings = settings

    def all(self) -> dict[str, Tool]:
        """By the names that clients see."""
        return {
            "check": self.check,
            "diagnose": self.diagnose,
            "explain": self.explain,
            "audit": self.audit,
            "rules_list": self.rules_list,
        }

    async def check(
        self,
        select: Rules = None,
        bundle: Annotated[str | None, Field(description="A file that `jsdoctor capture` wrote.")] = None,
        logs: LogPaths = None,
        samples: Annotated[int, Field(ge=1, le=5, description="Looks, two seconds apart.")] = 2,
        loki: Loki = False,
        since: Time = None,
        until: Time = None,
    ) -> str:
        """Check NATS JetStream: the live deployment of this server, or, if given, a bundle and logs instead of it.

        Read-only. `results` has findings first; a rule that is `not_evaluated` did not pass: it lacks evidence.
        """
        files = [f"--bundle={self._path(bundle)}"] if bundle else []
        files += [f"--logs={self._path(path)}" for path in logs or ()]
        place = files or [*self._settings.connection, f"--samples={samples}"]
        place += [*self._lines(loki), *_window(since, until)]
        return await self._json(["check", *place, *_rules(select), "--format=json"], live=not files)

    async def audit(
        self,
        paths: Annotated[Paths | None, Field(description="Logs below the server's directories.")] = None,
        select: Rules = None,
        since: Time = None,
        until: Time = None,
        loki: Loki = False,
    ) -> str:
        """Audit logs of NATS servers and clients, in files or in Loki: findings with times and counts."""
        given = [self._path(path) for path in paths or ()]
        lines = [*self._lines(loki), *_window(since, until)]
        return await self._json(
            ["audit", "--engine=local", *lines, *_rules(select), "--format=json", "--", *given], live=False
        )

    async def diagnose(
        self,
        text: Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")],
        stream: Name = None,
        consumer: Name = None,
        logs: LogPaths = None,
        offline: Annotated[bool, Field(description="Do not look at the live deployment.")] = False,
        loki: Loki = False,
        since: Time = None,
        until: Time = None,
    ) -> str:
        """Find the cause of an error text, a log line or an API error code: each cause confirmed or ruled out."""
        files = [f"--logs={self._path(path)}" for path in logs or ()]
        live = not files and not offline
        about = [f"--stream={stream}"] * bool(stream) + [f"--consumer={consumer}"] * bool(consumer)
        lines = self._lines(loki)
        place = [*self._settings.connection] if live else files or ["--offline"] * (not lines)
        place += [*lines, *_window(since, until)]
        # A word with a line break is never taken for the name of a file.
        return await self._json(["diagnose", *place, *about, "--format=json", "--", f"{text}\n"], live=live)

    async def explain(
        self, name: Annotated[str, Field(pattern=_WORD, description="JSD403, duplicate-messages or 10071.")]
    ) -> str:
        """The page of a rule, a symptom or an API error code: what it means, how it is measured, how to fix it."""
        finished = await self._run(["explain", "--color=never", "--", name], live=False)
        lines = _succeeded(finished).splitlines()
        document = {"name": name, "format": "markdown", "lines": lines}
        return answer(scrubbed(document), self._settings.answer_bytes)

    async def rules_list(
        self, matching: Annotated[str, Field(max_length=100, description="Part of a code, a slug or a title.")] = ""
    ) -> str:
        """The rules that jsdoctor knows: code, severity, slug and the healthy state that each checks for."""
        finished = await self._run(["rules", "list", "--format=json"], live=False)
        document = json.loads(_succeeded(finished))
        wanted = matching.lower()
        kept = [
            rule
            for rule in document["rules"]
            if any(wanted in str(rule.get(key, "")).lower() for key in ("code", "slug", "title"))
        ]
        return answer(scrubbed({**document, "rules": kept}), self._settings.answer_bytes)

    def _lines(self, wanted: bool) -> tuple[str, ...]:
        """The options of Loki. Raises `UsageProblem` where the server was started without."""
        if wanted and not self._settings.loki:
            raise UsageProblem(
                "this server reads no Loki", "the person who starts the server names it with --loki and --loki-query"
            )
        return self._settings.loki if wanted else ()

    def _path(self, given: str) -> str:
        return allowed_path(given, self._settings.roots)

    async def _json(self, arguments: list[str], live: bool) -> str:
        finished = await self._run([arguments[0], *self._settings.configuration, *arguments[1:]], live)
        document = {"exit_code": finished.code, **json.loads(_succeeded(finished))}
        return answer(scrubbed(document), self._settings.answer_bytes)

    async def _run(self, arguments: Sequence[str], live: bool) -> Finished:
        """Without `live`, the variables that choose a server are left out, so files are judged alone."""
        env = {name: value for name, value in os.environ.items() if live or not name.startswith("NATS_")}
        if self._settings.loki_token:
            env[TOKEN_VARIABLE] = self._settings.loki_token
        return await run_command(arguments, self._settings.seconds, env)


def _window(since: str | None, until: str | None) -> list[str]:
    return [f"--since={since}"] * bool(since) + [f"--until={until}"] * bool(until)


def _rules(select: list[str] | None) -> list[str]:
    return [f"--select={','.join(select)}"] if select else []


def _succeeded(finished: Finished) -> str:
    """The output. Raises `Problem` with the command's error message if it has no report."""
    if finished.code in _REPORTS and finished.output.strip():
        return finished.output
    raise Problem(finished.errors.strip()[:2000] or f"the command ended with exit code {finished.code}")

"""Declarations that cannot be judged: their tool refuses them, or only knows their values afterwards."""

from __future__ import annotations

from jsdoctor.model.finding import Finding, Subject, unknown
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredServers, DeclaredStream


def refused_by_tool(asset: DeclaredStream | DeclaredConsumer) -> bool:
    """Whether the tool itself will not take the manifest."""
    return any(not mistake.ignored for mistake in asset.mistakes)


def indeterminate(asset: DeclaredStream | DeclaredConsumer, *fields: str) -> Finding | None:
    """Why these fields of it cannot be judged; None when they can."""
    if refused_by_tool(asset):
        code = "JSD614" if isinstance(asset, DeclaredStream) else "JSD418"
        return unknown(asset.subject, f"its manifest has mistakes, see {code}", "fix them, and run again")
    if open_ := sorted(asset.unknown & set(fields)):
        return unknown(
            asset.subject, f"{open_[0]} is not known before the plan is applied", "apply it, then check the deployment"
        )
    return None


def unclear(servers: DeclaredServers, *settings: str) -> Finding | None:
    """Why these settings cannot be judged; None when they can."""
    open_ = sorted(servers.unclear & set(settings))
    return unclear_setting(servers.subject, open_[0]) if open_ else None


def jetstream_unclear(servers: DeclaredServers) -> Finding | None:
    """Why it is not known whether these servers have JetStream; None where it is.

    None for a container, too: the configuration file that its arguments name is judged by itself.
    """
    known = "jetstream" in servers.settings or servers.what == "container"
    return None if known else unclear(servers, "jetstream")


def unclear_setting(subject: Subject, setting: str) -> Finding:
    """A setting that depends on what no file says."""
    return unknown(
        subject,
        f"{setting} may come from an included file, a variable or a patch that was not read",
        "check the running server: jsdoctor check -s URL, with a login of the system account",
    )

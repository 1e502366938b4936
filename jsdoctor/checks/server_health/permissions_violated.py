"""JSD825: subjects that a login may not use, as servers and applications logged it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, Subject
from jsdoctor.model.log import LogEvidence, Occurrence
from jsdoctor.model.params import Params

_USED_UP = "subscriptions-used-up"
_SIGNATURES = ("subject-not-permitted", "client-subject-not-permitted", _USED_UP)
_ACKNOWLEDGEMENTS = "$JS.ACK."
_EFFECTS = (
    (_ACKNOWLEDGEMENTS, "acknowledgements are dropped, so what was processed is delivered again"),
    ("$JS.FC.", "flow control gets no response, so push consumers stall"),
    ("$JS.API.", "requests to JetStream get no reply, so clients report timeouts"),
    ("_INBOX.", "replies do not reach the client, so it reports timeouts"),
    ("$KV.", "values are not written"),
    ("$O.", "objects are not written"),
)


@check("server_health.permissions_violated_logged", lines_of="any")
def permissions_violated_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Each refusal is one line of the server (client.go), and one error that the client may log."""
    for burst in bursts(logs, *_SIGNATURES, subjects=_login, calm=False):
        yield finding_of(burst, _message(burst), None if _is_severe(burst, params) else Severity.INFO)


def _login(fields: Mapping[str, str], logged_by: str) -> Subject:
    """The client that was refused: by login or address in lines of servers, else the application that logged it."""
    return Subject(kind="client", name=fields.get("user") or fields.get("address") or logged_by)


def _is_severe(burst: Burst, params: Params) -> bool:
    lines = {prefix: sum(line.count for line in burst.found if _prefix(line) == prefix) for prefix, _ in _EFFECTS}
    used_up = any(occurrence.signature == _USED_UP for occurrence in burst.found)
    return used_up or bool(lines[_ACKNOWLEDGEMENTS]) or sum(lines.values()) >= params.integer("min_violations")


def _prefix(line: Occurrence) -> str | None:
    """The JetStream prefix of the refused subject, or None; in any case, as nats.py logs it in lower case."""
    return next((prefix for prefix, _ in _EFFECTS if line.value("reason").upper().startswith(prefix)), None)


def _message(burst: Burst) -> str:
    """The message, with the effects of refused JetStream subjects and of used-up subscriptions."""
    used_up = (
        "its connection has as many subscriptions as it may, and further ones are refused; many clients disconnect"
    )
    if all(occurrence.signature == _USED_UP for occurrence in burst.found):
        return f"{used_up}: {burst.story}"
    seen = {_prefix(occurrence) for occurrence in burst.found}
    effects = [effect for prefix, effect in _EFFECTS if prefix in seen]
    verbs = sorted({occurrence.value("kind").lower() for occurrence in burst.found if occurrence.value("kind")})
    what = f"{' and '.join(verbs)} to {burst.values('reason')}"
    stated = f"its permissions do not allow what it does ({what}): {burst.story}"
    effects += [used_up] if any(occurrence.signature == _USED_UP for occurrence in burst.found) else []
    return f"{stated}; {', and '.join(effects)}" if effects else stated

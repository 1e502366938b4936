"""Posting JSON to a receiver that the operator named."""

from __future__ import annotations

import httpx2

from jsdoctor.model.problems import Problem

_TIMEOUT_S = 5.0


class WebhookProblem(Problem):
    """A receiver did not accept what was posted."""


def receiver_name(url: str) -> str:
    """Scheme, host and port alone: paths and queries of webhooks are secrets."""
    parsed = httpx2.URL(url)
    return str(parsed.copy_with(username=None, password=None, path="/", query=None, fragment=None)).rstrip("/")


def post_json(url: str, body: str) -> None:
    """Post the body and read only the status. Raises WebhookProblem, without the secret parts of the address."""
    name = receiver_name(url)
    hint = "check the address given with --notify"
    try:
        with (
            httpx2.Client(timeout=_TIMEOUT_S, follow_redirects=False) as client,
            client.stream("POST", url, content=body.encode(), headers={"Content-Type": "application/json"}) as response,
        ):
            status = response.status_code
    except (httpx2.HTTPError, OSError) as error:
        raise WebhookProblem(f"{name} was not reached: {type(error).__name__}", hint) from None
    if not httpx2.codes.is_success(status):
        raise WebhookProblem(f"{name} refused the notification (HTTP {status})", hint)

"""Posting JSON to a receiver that the operator named."""

from __future__ import annotations

import httpx2

from jsdoctor.model.problems import Problem

_TIMEOUT_S = 5.0


class WebhookProblem(Problem):
    """A receiver did not accept what was posted."""


class BodyProblem(WebhookProblem):
    """A receiver will not accept this body, however often it is posted."""


_OTHER_THAN_THE_BODY = {401, 403, 404, 408, 429}
"""Statuses of the 4xx that are about the address, the login or the pace."""


def receiver_name(url: str) -> str:
    """Scheme, host and port alone: paths and queries of webhooks are secrets."""
    parsed = httpx2.URL(url)
    return str(parsed.copy_with(username=None, password=None, path="/", query=None, fragment=None)).rstrip("/")


def post_json(url: str, body: str) -> None:
    """Post the body and read only the status. Raises WebhookProblem, without the secret parts of the address."""
    hint = "check the address given with --notify"
    try:
        name = receiver_name(url)
    except httpx2.InvalidURL:
        raise WebhookProblem("the address of a receiver is no URL", hint) from None
    try:
        with (
            httpx2.Client(timeout=_TIMEOUT_S, follow_redirects=False) as client,
            client.stream("POST", url, content=body.encode(), headers={"Content-Type": "application/json"}) as response,
        ):
            status = response.status_code
    except (httpx2.HTTPError, OSError) as error:
        raise WebhookProblem(f"{name} was not reached: {type(error).__name__}", hint) from None
    if not httpx2.codes.is_success(status):
        is_body = httpx2.codes.is_client_error(status) and status not in _OTHER_THAN_THE_BODY
        raise (BodyProblem if is_body else WebhookProblem)(f"{name} refused the notification (HTTP {status})", hint)

"""Post a Markdown file as the comment of a GitHub pull request, or replace the comment that an earlier run posted.

The GitHub action runs it with the Python of the job: it needs the standard library only. GITHUB_TOKEN needs the
permission `pull-requests: write`. Outside of a pull request it does nothing.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MARKER = "<!-- jsdoctor -->"
MOST_CHARACTERS = 65_000
"""GitHub refuses comments of more than 65,536 characters."""
_CUT = "\n\nThe rest is cut off: see the job's summary.\n"
_PAGES = 30


def main(file: str) -> int:
    """Exit code 0, or 1 with one sentence when GitHub refuses the comment or the file is missing."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    number = (event.get("pull_request") or {}).get("number")
    if number is None:
        sys.stdout.write("no comment: this job does not run for a pull request\n")
        return 0
    try:
        _post(number, f"{MARKER}\n{_bounded(Path(file).read_text('utf-8'))}")
    except urllib.error.HTTPError as error:
        hint = "give the job the permission `pull-requests: write`" if error.code in {401, 403, 404} else "run it again"
        return _failed(f"GitHub answers {error.code} to the comment on pull request {number}: {hint}")
    except OSError as error:
        return _failed(f"the comment on pull request {number} was not posted: {error}")
    return 0


def _failed(sentence: str) -> int:
    sys.stdout.write(f"::error::{sentence}\n")
    return 1


def _bounded(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS].rsplit("\n", 1)[0] + _CUT


def _post(number: int, body: str) -> None:
    repository = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}"
    comments = f"{repository}/issues/{number}/comments"
    earlier = _earlier(comments)
    if earlier is None:
        _request("POST", comments, {"body": body})
    else:
        _request("PATCH", f"{repository}/issues/comments/{earlier}", {"body": body})


def _earlier(comments: str) -> int | None:
    """The comment of an earlier run. A person's comment that quotes the marker is left alone: a bot wrote ours."""
    for page in range(1, _PAGES + 1):
        found = _request("GET", f"{comments}?per_page=100&page={page}")
        for comment in found:
            if comment["body"].startswith(MARKER) and comment["user"]["type"] == "Bot":
                return int(comment["id"])
        if len(found) < 100:
            break
    return None


def _request(method: str, url: str, content: Any = None) -> Any:
    request = urllib.request.Request(  # noqa: S310 - the address is the runner's own
        url,
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
        return json.load(reply)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

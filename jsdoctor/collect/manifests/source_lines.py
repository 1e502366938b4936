"""Lines of the files that people write, as a report shows them under a finding."""

from __future__ import annotations

import re
from functools import lru_cache

from jsdoctor.collect.manifests.load import SHOWN_STDIN, repository_root
from jsdoctor.parse.redact import scrub_line

_MAX_BYTES = 4 << 20
_SECRET = re.compile(r"pass|pwd|token|secret|seed|nkey|jwt|cred|key|auth\b|BEGIN|@|[\w+/=]{40}", re.IGNORECASE)
"""What names a secret, is in an address with a login, or is encoded: no line with one of these is shown."""
_SECRETS = re.compile(r"\bkind[\"']?:\s*[\"']?\w*Secret")
"""A file in which any line may be a secret."""


def source_line(file: str, number: int) -> str:
    """A line of a manifest, without its end. Empty where it cannot be read, or may have a secret."""
    line = next(iter(_lines(file)[number - 1 : number]), "").rstrip()
    return "" if _SECRET.search(line) or scrub_line(line) != line else line


@lru_cache(maxsize=32)
def _lines(file: str) -> list[str]:
    path = repository_root() / file
    try:
        if file == SHOWN_STDIN or not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return []  # a pipe would wait for a writer
        content = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return []
    return [] if _SECRETS.search(content) else content.split("\n")

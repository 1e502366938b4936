"""LogQL as far as jsdoctor must understand it: the stream selector, and whether the query leaves lines out."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from jsdoctor.parse.loki.replies import Labels

LEVELS = frozenset({"level", "severity", "lvl", "log_level", "loglevel", "detected_level", "severity_text", "priority"})
"""Labels that tell how severe a line is: one server has lines under several values."""

# Without an end, a text in quotes goes to the end of the query: else each \" in it would begin another search.
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|`[^`]*+(?:`|\Z)', re.DOTALL)
_MATCHER = re.compile(r"(?<![\w.])([\w.]++)\s*+(?:=~|!~|!=|=)")
_SHAPING = re.compile(
    r"\s*(?:\|\s*(?:json|logfmt|unpack|regexp|pattern|line_format|label_format|decolorize|drop|keep)\b"
    r"(?:[\s,\w.-]|=(?![=~]))*+)*+"
)
"""Stages that leave no line out. Quoted texts are `Q`."""


class LogQuery(msgspec.Struct, frozen=True):
    """A log query: its stream selector with the braces, and what follows. `filters`: it may leave lines out."""

    selector: str
    pipeline: str
    filters: bool

    @property
    def text(self) -> str:
        """The query as Loki is given it."""
        return self.selector + self.pipeline

    def of_stream(self, labels: Labels, names: Sequence[str]) -> str:
        """The same query for one stream alone. `names` are labels that other streams have."""
        own = dict(labels)
        pairs = sorted({**dict.fromkeys(names, ""), **own}.items())
        matchers = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in pairs)
        return f"{{{matchers}}}{self.pipeline}"


def parse_log_query(text: str) -> LogQuery:
    """Read a query. Raises ValueError for one that selects no streams, such as a metric query."""
    text = text.strip()
    blank = _QUOTED.sub(lambda match: "Q" * len(match[0]), text)
    end = blank.find("}")
    if not text.startswith("{") or end < 0 or "{" in blank[1:end]:
        raise ValueError("it does not begin with a stream selector")
    selector, pipeline = text[: end + 1], text[end + 1 :]
    if "[" in blank[end:]:
        raise ValueError("a metric query gives no log lines")
    by_level = any(name in LEVELS for name in _MATCHER.findall(blank[: end + 1]))
    shapes = _SHAPING.fullmatch(_QUOTED.sub("Q", pipeline))
    return LogQuery(selector, pipeline, by_level or shapes is None)

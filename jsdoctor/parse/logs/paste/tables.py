"""Tables of log viewers: CSV and TSV exports, and tables drawn with bars."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from jsdoctor.parse.logs.lines.header import STAMPED, UNSTAMPED

_COLUMNS = re.compile(
    r"(?i)(@?timestamp|_?time|date|datetime|timegenerated.*|@?message|_raw|line|log|logentry|textpayload|body|content"
    r"|event|host|pod|level|severity|source|service|labels?|stream|tsns|id|_source|container.*|@?log.*|k8s.*|kubernetes.*)"
)
_RULE = re.compile(r"[\s|+\-=:│┌┐└┘├┤┬┴┼─═╭╮╰╯╪╡╞]+")
_MARKDOWN_RULE = re.compile(r"\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+")
_LIMIT = 1 << 20


def table_lines(text: str) -> list[str] | None:
    """One JSON object a line for each row of a table; None when the text is none."""
    return _csv_lines(text) or _drawn_lines(text) or _markdown_lines(text)


def _csv_lines(text: str) -> list[str] | None:
    first, _, rest = text.lstrip("\ufeff").partition("\n")
    for delimiter in (",", "\t", ";"):
        names = next(iter(_read(first, delimiter)), [])
        if len(names) < 2 or not all(_COLUMNS.fullmatch(name.strip()) for name in names):
            continue
        return [_row(names, cells) for cells in _read(rest, delimiter) if any(cells)] or None
    cells = next(iter(_read(first, ",")), [])
    if len(cells) > 1 and first.lstrip().startswith('"') and any(_headed(cell) for cell in cells):
        return [_row([], row) for row in _read(text, ",") if any(row)]
    return None


def _read(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LIMIT)
    try:
        yield from csv.reader(io.StringIO(text.replace("\0", "")), delimiter=delimiter)
    except csv.Error:
        return


def _drawn_lines(text: str) -> list[str] | None:
    """Rows between bars: `| time | message |`, or of box drawing. A cell that goes on in the next row is joined."""
    lines = text.splitlines()
    drawn = [line for line in lines if _is_row(line)]
    if len(drawn) < 2 or len(drawn) * 2 < sum(bool(line.strip()) for line in lines):
        return None
    rows = [_cells(line) for line in drawn if not _RULE.fullmatch(line)]
    names = rows[0] if rows and all(_COLUMNS.fullmatch(cell) for cell in rows[0] if cell) else []
    result: list[list[str]] = []
    for cells in rows[bool(names) :]:
        if result and len(cells) == len(result[-1]) and not cells[0] and any(cells):
            result[-1] = [f"{item} {more}".strip() for item, more in zip(result[-1], cells, strict=True)]
        else:
            result.append(cells)
    return [_row(names, cells) for cells in result] or None


def _markdown_lines(text: str) -> list[str] | None:
    """Rows of a Markdown table without bars at its sides: a line of names, `-- | --`, and one line for each row."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 3 or not _MARKDOWN_RULE.fullmatch(lines[1]):
        return None
    columns = lines[1].count("|") + 1
    rows = [[cell.strip() for cell in line.split("|", columns - 1)] for line in (lines[0], *lines[2:])]
    if any(len(row) != columns for row in rows):
        return None
    names = rows[0] if all(_COLUMNS.fullmatch(cell) for cell in rows[0]) else []
    return [_row(names, row) for row in rows[1:]]


def _is_row(line: str) -> bool:
    stripped = line.strip()
    return len(stripped) > 1 and stripped[0] in "|│+├┌╭╰└" and stripped[-1] in "|│+┤┐╮╯┘"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"[|│]", line.strip().strip("|│"))]


def _row(names: Sequence[str], cells: Sequence[str]) -> str:
    """A row as an object. Without names the cell with a server's header is the message."""
    if names:
        return _encoded({name.strip(): cell for name, cell in zip(names, cells, strict=False)})
    message = next((cell for cell in cells if _headed(cell)), max(cells, key=len, default=""))
    time = next((cell for cell in cells if cell is not message and cell[:4].strip('"').isdigit()), "")
    return _encoded({"time": time, "message": message})


def _encoded(row: Mapping[str, str]) -> str:
    return msgspec.json.encode(row).decode()


def _headed(cell: str) -> bool:
    raw = cell[:200].encode(errors="replace")
    return bool(STAMPED.search(raw) or UNSTAMPED.match(raw))

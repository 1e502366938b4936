"""Tables in pasted text: boxes that commands draw, Markdown, and columns that only spaces separate.

One reader for all of them. What a table shows is known by its columns: see `cli_tables` and `verdicts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

_BORDER = re.compile(r"^[\s>]*[+|╭├╰╞┌└┏┡┠┗╔╠╚](?=.*[─━═-])[\s+|─━═┬┼┴┳╇╈┻╤╪╧╦╬╩┐┤┘┓┩┨┛╗╣╝╮╯:-]*$")
_SIDE = re.compile(r"[│┃║|]")
_GAP = re.compile(r"\s{2,}|\t")
_CAPITALS = re.compile(r"^[A-Z][A-Z0-9 ()_%/-]*$")
_MAX_COLUMNS = 60
_MIN_COLUMNS = 3
"""Two words in capitals with a gap between them are often a heading."""
_MAX_ROWS = 20_000


class TableRow(dict[str, str]):
    """The cells of a row by column. A column that the table does not have is an empty cell: versions differ."""

    def __missing__(self, column: str) -> str:
        return ""


class Table(msgspec.Struct, frozen=True):
    """One table: its title, if it has one, the names of its columns in lower case, and its rows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]

    def has(self, *columns: str) -> bool:
        """Whether it has all of these columns."""
        return set(columns) <= set(self.columns)


def boxed_tables(lines: Iterable[str]) -> Iterator[Table]:
    """Tables with lines between their cells. A row with another number of cells ends its table."""
    title = ""
    columns: tuple[str, ...] = ()
    rows: list[TableRow] = []
    for line in lines:
        if _BORDER.match(line):
            continue
        cells = _cells(line)
        if len(cells) > 1 and not columns:
            columns = _names(cells)
        elif columns and len(cells) == len(columns):
            if len(rows) < _MAX_ROWS:
                rows.append(TableRow(zip(columns, cells, strict=True)))
        else:
            if columns:
                yield Table(title, columns, tuple(rows))
            title, columns, rows = (cells[0] if len(cells) == 1 else ""), (), []
            if len(cells) > 1:
                columns = _names(cells)
    if columns:
        yield Table(title, columns, tuple(rows))


def cells_below(title: str, lines: Iterable[str]) -> list[list[str]]:
    """The rows below a title, in a table that `nats` prints without names of columns. A narrow box wraps the title."""
    rows: list[list[str]] = []
    heading, wanted = "", title.replace(" ", "")
    for line in lines:
        cells = _cells(line)
        if heading == wanted and cells:
            rows.append(cells)
        elif len(cells) == 1 and wanted.startswith(heading + cells[0].replace(" ", "")):
            heading += cells[0].replace(" ", "")
        elif not _BORDER.match(line):
            heading = ""
    return rows


def without_tables(text: str) -> str:
    """The lines of a text that are in no drawn table."""
    return "\n".join(line for line in text.splitlines() if not _cells(line) and not _BORDER.match(line))


def _cells(line: str) -> list[str]:
    """The cells of a row with lines between them; empty for another line."""
    parts = _SIDE.split(line)
    if len(parts) < 3 or parts[0].strip(" >\t") or len(parts) > _MAX_COLUMNS:
        return []
    return [part.strip() for part in parts[1:-1]]


def _names(cells: Iterable[str]) -> tuple[str, ...]:
    """Names of columns. One that is repeated, as `nats stream subjects` does, gets a number: `count#2`."""
    names: list[str] = []
    for cell in cells:
        name = cell.lower()
        again = sum(candidate.partition("#")[0] == name for candidate in names)
        names.append(f"{name}#{again + 1}" if again else name)
    return tuple(names)


def spaced_tables(lines: Iterable[str]) -> Iterator[Table]:
    """Tables as `kubectl get` prints them: capitals name the columns, and cells begin below their names."""
    header: list[tuple[int, str]] = []
    rows: list[TableRow] = []
    for line in lines:
        names = _header(line)
        if names or (header and not line.strip()):
            if rows:
                yield Table("", tuple(name for _, name in header), tuple(rows))
            header, rows = names, []
        elif header and len(rows) < _MAX_ROWS:
            row = _row(line, header)
            if row is None:
                if rows:
                    yield Table("", tuple(name for _, name in header), tuple(rows))
                header, rows = [], []
            else:
                rows.append(row)
    if rows:
        yield Table("", tuple(name for _, name in header), tuple(rows))


def _header(line: str) -> list[tuple[int, str]]:
    """The columns that a line names, and where each begins; empty for any other line."""
    bare = line.lstrip(" >\t")
    if not _CAPITALS.match(bare.strip()):
        return []
    offset, result = len(line) - len(bare), []
    for name in _GAP.split(bare.rstrip()):
        offset = line.index(name, offset)
        result.append((offset, name.lower()))
        offset += len(name)
    return result if _MIN_COLUMNS <= len(result) <= _MAX_COLUMNS else []


def _row(line: str, header: list[tuple[int, str]]) -> TableRow | None:
    """The cells of a line: split below the names if it is aligned, else at wide gaps; None if their number differs."""
    starts = [start for start, _ in header]
    if all(len(line) < start or line[start - 1].isspace() for start in starts[1:]):
        ends = [*starts[1:], len(line)]
        cells = [line[begin:end].strip() for begin, end in zip(starts, ends, strict=True)]
        return TableRow((name, cell) for (_, name), cell in zip(header, cells, strict=True)) if cells[0] else None
    cells = _GAP.split(line.strip())
    if len(cells) != len(header):
        return None
    return TableRow((name, cell) for (_, name), cell in zip(header, cells, strict=True))

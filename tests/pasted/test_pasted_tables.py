"""Tables of log viewers become one object for each row, and long runs of white space are read in linear time."""

import json

from jsdoctor.logs.paste.rewrite import table_lines
from jsdoctor.pasted.verdicts import verdicts_in

LINE = "[7] 2026/11/21 10:00:00.000000 [INF] Server is ready"


def test_a_long_run_of_spaces_in_a_cell_is_read() -> None:
    """With a search for the space before a bar this takes a quarter of an hour."""
    space = " " * 1_000_000
    rows = table_lines(f"│ time │ message │\n│ 10:00 │ {LINE}{space}x │\n")
    assert rows is not None
    assert json.loads(rows[0])["message"] == f"{LINE}{space}x"


def test_many_empty_lines_before_a_verdict_are_read() -> None:
    (verdict,) = verdicts_in("\n" * 1_000_000 + "OK ORDERS 3 messages | messages=3\n")
    assert "ORDERS" in verdict.what

"""Lines searched at once, and by the compiled core, give what they give one by one."""

from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.redaction.redact import redact, scrub_line, scrub_lines, secret_finder
from jsdoctor.redaction.secret_forms import SIGNS, WORDS, has_no_secret

_PIECES = [*SIGNS, *WORDS, *(word.upper() for word in WORDS), *(sign.swapcase() for sign in SIGNS)]
_PIECES += [
    b" ",
    b"=",
    b": ",
    b"auth",
    b"authentication",
    b"Abcdefghijkl01234567",
    b"hunter-22",
    b"SU" + 28 * b"AB",
    b"SU" + 28 * b"ab",
    b"stream 'A > B'",
    b"\xc3\xa9",
]
_LINE = st.lists(st.sampled_from(_PIECES), max_size=4).map(b"".join)


@given(_LINE)
def test_the_finder_is_the_reference(line: bytes) -> None:
    assert secret_finder()(line) == has_no_secret(line)


@given(st.lists(_LINE, max_size=4))
def test_lines_at_once_are_the_lines_one_by_one(lines: list[bytes]) -> None:
    texts = [line.decode() for line in lines]
    assert scrub_lines(texts) == [scrub_line(text) for text in texts]


@given(_LINE)
def test_nothing_is_replaced_where_the_finder_finds_nothing(line: bytes) -> None:
    assert not has_no_secret(line) or redact((), texts=(line,)).texts == (line,)


def test_a_refused_login_is_no_secret() -> None:
    line = b'10.0.0.1:36152 - cid:43 - authentication error - User "svc3"'
    assert has_no_secret(line)
    assert not has_no_secret(line + b" Authorization: x")
    assert not has_no_secret(line + b" AUTH= x")

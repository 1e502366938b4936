"""Histograms put together give what their spans give."""

from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.model.histogram import Histogram

_WIDTH = 100
_SPANS = st.lists(st.tuples(st.integers(-500, 2000), st.integers(0, 99), st.integers(1, 9)), max_size=6)


def _histogram(spans: list[tuple[int, int, int]]) -> Histogram:
    return Histogram.joined([(first, first + longer, count) for first, longer, count in spans], _WIDTH)


@given(st.lists(_SPANS, max_size=4))
def test_together_is_the_spans_of_all(parts: list[list[tuple[int, int, int]]]) -> None:
    histograms = [_histogram(spans) for spans in parts]
    spans = [span for histogram in histograms for span in histogram.spans()]
    assert Histogram.together(histograms, _WIDTH) == Histogram.joined(spans, _WIDTH)


@given(_SPANS, st.integers(-600, 2100))
def test_numbers_read_at_once_are_those_of_the_spans(spans: list[tuple[int, int, int]], us: int) -> None:
    histogram = _histogram(spans)
    assert list(histogram.firsts()) == [first for first, _, _ in histogram.spans()]
    assert list(histogram.lasts()) == [last for _, last, _ in histogram.spans()]
    assert list(histogram.counts()) == [count for _, _, count in histogram.spans()]
    assert histogram.lines_from(us) == sum(count for first, _, count in histogram.spans() if first >= us)

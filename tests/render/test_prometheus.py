"""Prometheus text, read back by prometheus_client: complete counts, bounded series, absence where nothing is known."""

from typing import Any

import pytest
from hypothesis import given
from prometheus_client.parser import text_string_to_metric_families

from jsdoctor.model.finding import Finding
from jsdoctor.model.report import Report, Result
from jsdoctor.render.escape import printable
from jsdoctor.render.formats.prometheus import render as render_prometheus
from jsdoctor.render.options import RenderOptions
from tests.render import reports
from tests.render.strategies import options as any_options
from tests.render.strategies import reports as any_report

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read(text: str) -> Series:
    """Every series. Fails on one that is there twice."""
    samples: Series = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation
        assert family.type == "gauge"
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in samples, key
            samples[key] = sample.value
    return samples


def value(series: Series, name: str, /, **labels: str) -> float | None:
    [*values] = (v for (n, own), v in series.items() if n == name and set(labels.items()) <= own)
    return sum(values) if values else None


def series(report: Report, **settings: Any) -> Series:
    return read(render_prometheus(report, RenderOptions(**settings)))


@given(report=any_report, options=any_options)
def test_any_report_is_read_back_with_the_same_counts(report: Report, options: RenderOptions) -> None:
    parsed = read(render_prometheus(report, options))
    assert value(parsed, "jsdoctor_findings_by_severity") == len(report.failures())
    assert (value(parsed, "jsdoctor_findings") or 0) == len(report.failures())
    assert value(parsed, "jsdoctor_gaps", requested="true") == sum(gap.requested for gap in report.gaps)
    if options.max_examples:
        rules = {(result.rule.code, result.severity) for result in report.failures()}
        assert (value(parsed, "jsdoctor_finding") or 0) <= options.max_examples * len(rules)


def test_counts_are_complete_where_series_are_bounded() -> None:
    flood = series(reports.flood(1000))
    assert value(flood, "jsdoctor_findings", code="JSD403", severity="error") == 1000
    assert value(flood, "jsdoctor_finding", code="JSD403") == 5
    assert value(flood, "jsdoctor_findings_not_listed", code="JSD403") == 995
    everything = series(reports.flood(1000), max_examples=0)
    assert value(everything, "jsdoctor_finding", code="JSD403") == 1000
    assert value(everything, "jsdoctor_findings_not_listed", code="JSD403") == 0


@pytest.mark.parametrize(
    "name", ['a"b', "a\\b", "a\nb", 'x"} 1\njsdoctor_gaps{requested="true"} 9\n#', "é\u202e", "\\n"]
)
def test_a_hostile_name_is_one_label(name: str) -> None:
    finding = Finding(subject=reports.stream(name), message="x")
    parsed = series(reports.report(results=[Result(reports.REPLICAS, finding)]))
    assert value(parsed, "jsdoctor_finding", name=printable(name), kind="stream") == 1
    assert value(parsed, "jsdoctor_gaps") == 0

"""The JSON report: complete, in order, and what its schema says."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from jsdoctor.model.report import Report
from jsdoctor.model.topology import Domain, Topology
from jsdoctor.render.formats.json import render as render_json
from jsdoctor.render.options import RenderOptions
from tests.render import reports
from tests.render.golden import assert_golden
from tests.render.strategies import options as any_options
from tests.render.strategies import reports as any_report
from tools.schemas import DIRECTORY, schemas

SCHEMA: dict[str, Any] = json.loads((DIRECTORY / "report-v1.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def strictly(text: str) -> Any:
    """Parse JSON; NaN and Infinity, which are none, raise."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def document(report: Report) -> dict[str, Any]:
    parsed = strictly(render_json(report, RenderOptions()))
    VALIDATOR.validate(parsed)
    assert isinstance(parsed, dict)
    return parsed


@pytest.mark.parametrize("name", ["busy", "clean", "hostile"])
def test_is_what_it_was(name: str) -> None:
    report: Report = getattr(reports, name)()
    document(report)
    assert_golden(f"{name}.json", render_json(report, RenderOptions()))


def test_the_schemas_are_those_of_the_code() -> None:
    for path, text in schemas().items():
        assert path.read_text("utf-8") == text, "run python -m tools.schemas"


@pytest.mark.parametrize("name", ["report-v1.json", "diagnosis-v1.json"])
def test_a_schema_is_one_and_closed_everywhere(name: str) -> None:
    schema = json.loads((DIRECTORY / name).read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert len(schema["$defs"]) > 8
    for definition in schema["$defs"].values():
        if definition.get("type") == "object":
            assert definition["additionalProperties"] is False
            assert set(definition["required"]) == set(definition["properties"])


def test_order_is_worst_first_then_code_then_subject_whatever_the_input() -> None:
    report = reports.busy()
    shuffled = Report(
        **{name: getattr(report, name) for name in report.__struct_fields__}
        | {
            "results": tuple(reversed(report.results)),
            "gaps": tuple(reversed(report.gaps)),
            "verdicts": tuple(reversed(report.verdicts)),
        }
    )
    assert render_json(shuffled, RenderOptions()) == render_json(report, RenderOptions())
    results = document(report)["results"]
    rank = {"critical": 0, "error": 1, "warning": 2, "info": 3}
    keys = [
        (rank[r["severity"]], r["code"], r["subject"]["account"], r["subject"]["stream"], r["subject"]["name"])
        for r in results
    ]
    assert keys == sorted(keys)


def test_every_finding_is_there_and_every_rule_accounted_for() -> None:
    flood = document(reports.flood(1000))
    assert len(flood["results"]) == 1000
    assert flood["summary"]["findings"] == {"critical": 0, "error": 1000, "warning": 0, "info": 0}
    night = document(reports.busy())
    assert night["summary"]["rules"] == {"pass": 2, "fail": 6, "not_applicable": 0, "not_evaluated": 3, "error": 1}
    assert sum(night["summary"]["rules"].values()) == len(night["rules"]) == 12
    assert night["summary"]["subjects"]["fail"] == 14
    growing = next(rule for rule in night["rules"] if rule["code"] == "JSD402")
    assert growing["outcome"] == "not_evaluated"
    assert growing["how_to_get"] == "leave --samples at 2 or more"
    assert [gap["requested"] for gap in night["gaps"]] == [True, True, False]


def test_hostile_text_survives_exactly_but_is_harmless_on_a_terminal() -> None:
    written = render_json(reports.hostile(), RenderOptions())
    assert all(character.isprintable() or character == "\n" for character in written)
    parsed = strictly(written)
    assert parsed["results"][0]["subject"]["name"] == reports.NASTY
    assert parsed["results"][0]["threshold"] is None
    assert parsed["results"][0]["evidence"][0]["value"] == {reports.NASTY: [reports.NASTY, None, "\ufffd"]}


@given(report=any_report, options=any_options)
def test_the_json_of_any_report_is_valid(report: Report, options: RenderOptions) -> None:
    written = render_json(report, options)
    written.encode("ascii" if options.ascii_only else "utf-8")
    VALIDATOR.validate(strictly(written))


def test_the_deployment_is_there_where_servers_showed_it() -> None:
    hub = Domain(label="hub", name="hub", clusters=("C",), servers=("h1", "h2", "h3"), meta_size=3)
    site = Domain(label="shop", name="shop", clusters=(), servers=("s1",), is_site=True)
    topology = Topology(domains=(hub, site), roles={"work queue": 2}, leafs=1)
    deployment = document(reports.report(topology=topology))["deployment"]
    assert deployment["summary"] == "cluster of 3 servers, 1 leaf site with a JetStream of its own; 2 work queues"
    assert [(domain["label"], domain["meta_size"], domain["is_site"]) for domain in deployment["domains"]] == [
        ("hub", 3, False),
        ("shop", 0, True),
    ]
    assert (deployment["uses"], deployment["leaf_connections"]) == ([{"name": "work queue", "count": 2}], 1)
    assert document(reports.report())["deployment"] is None

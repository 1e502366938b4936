"""Incidents in the formats of pipelines: the cause is named with every consequence, and no incident is left out."""

import json
from typing import Any
from xml.etree import ElementTree as ET  # what is read here was written here

from jsdoctor.model.report import Report
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.options import RenderOptions
from tests.render.outages import outage

REPORT = outage(6)
"""n3 is dead: JSD703 explains JSD702, JSD706 and JSD901. JSD405 and JSD601 stand for themselves."""
WHY = "explained by JSD703 n3: "
EXPLAINED = {"JSD702", "JSD706", "JSD901"}


def written(format_: str, report: Report = REPORT, **settings: Any) -> str:
    return FORMATS[format_](report, RenderOptions(**settings))


def test_sarif_relates_each_consequence_to_its_cause() -> None:
    [run] = json.loads(written("sarif"))["runs"]
    related_by_code = {
        result["ruleId"]: (
            [(place["logicalLocations"][0]["name"], place["message"]["text"]) for place in result["relatedLocations"]]
            if "relatedLocations" in result
            else []
        )
        for result in run["results"]
    }
    assert {code for code, related in related_by_code.items() if related} == EXPLAINED
    assert all(name == "n3" and text.startswith(WHY) for related in related_by_code.values() for name, text in related)
    by_code = {result["ruleId"]: result["properties"]["incident"] for result in run["results"]}
    assert {by_code[code] for code in EXPLAINED} == {by_code["JSD703"]}
    incidents = run["properties"]["incidents"]
    assert [incident["number"] for incident in incidents] == [1, 2, 3]
    listed = [fingerprint for incident in incidents for fingerprint in (*incident["causes"], *incident["consequences"])]
    assert sorted(listed) == sorted(r["partialFingerprints"]["jsdoctor/v1"] for r in run["results"])


def test_junit_has_the_incidents_as_properties_and_names_causes() -> None:
    root = ET.fromstring(written("junit"))  # noqa: S314
    properties = {element.get("name"): element.get("value", "") for element in root.iter("property")}
    assert set(properties) == {"incident 1", "incident 2", "incident 3"}
    assert [text.split(":")[0] for text in properties.values() if "JSD703 n3 (3 consequences)" in text]
    for suite in root.iter("testsuite"):
        assert suite.find("properties") is None or suite[0].tag == "properties"
    texts = {case.get("classname", "")[9:15]: "".join(case.itertext()) for case in root.iter("testcase")}
    assert {code for code, text in texts.items() if "Explained by: JSD703 n3" in text} == EXPLAINED

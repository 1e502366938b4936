"""Addresses on the documentation site: in reports and on pages where `docs-url` is set, and nowhere else."""

import json

from jsdoctor.app.rulebook import open_rulebook, open_symptoms
from jsdoctor.render.explain import page_markdown, symptom_markdown
from jsdoctor.render.formats.json import render as render_json
from jsdoctor.render.formats.sarif import render as render_sarif
from jsdoctor.render.formats.text import render as render_text
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.site import rule_url, symptom_url
from tests.render import reports
from tests.support.ruleset import rules

BASE = "https://docs.example/jsdoctor"


def test_without_a_base_and_for_rules_of_others_there_is_none() -> None:
    assert rule_url("", "JSD701") == rule_url(BASE, "OWN001") == symptom_url("", "links-down") == ""


def test_sarif_has_it_as_help_uri_only_with_a_base() -> None:
    def described(docs_url: str) -> list[dict[str, object]]:
        written = json.loads(render_sarif(reports.busy(), RenderOptions(docs_url=docs_url)))
        rules: list[dict[str, object]] = written["runs"][0]["tool"]["driver"]["rules"]
        return rules

    assert described(BASE)
    assert all(rule["helpUri"] == f"{BASE}/rules/{rule['id']}/" for rule in described(BASE))
    assert all("helpUri" not in rule for rule in described(""))


def test_reports_name_the_page_of_each_rule_only_with_a_base() -> None:
    with_base, without = RenderOptions(docs_url=BASE, width=200), RenderOptions(width=200)
    linked, plain = render_text(reports.busy(), with_base), render_text(reports.busy(), without)
    assert "Why: jsdoctor explain JSD" in plain
    assert BASE not in plain
    assert f"JSD403, risk, {BASE}/rules/JSD403/\n" in linked
    for rule in json.loads(render_json(reports.busy(), with_base))["rules"]:
        assert rule["page"] == f"{BASE}/rules/{rule['code']}/"
    assert {rule["page"] for rule in json.loads(render_json(reports.busy(), without))["rules"]} == {""}


def test_a_page_names_its_address_only_with_a_base() -> None:
    rulebook = open_rulebook()
    book = open_symptoms(rulebook)
    rule, symptom = rules()[0], book.symptoms[0]
    with_base, without = RenderOptions(docs_url=BASE), RenderOptions()
    assert f"- page: <{BASE}/rules/{rule.code}/>" in page_markdown(rule, with_base)
    assert f"Page: <{BASE}/symptoms/{symptom.slug}/>" in symptom_markdown(symptom, book, rulebook.rules, with_base)
    assert "page: " not in page_markdown(rule, without)
    assert "Page: " not in symptom_markdown(symptom, book, rulebook.rules, without)

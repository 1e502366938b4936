"""The configuration file and its JSON Schema: what one of them takes, the other takes."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from jsdoctor.configuration import file as configuration
from jsdoctor.configuration.file import ConfigurationError, parse_configuration

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema" / "configuration-v1.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

EVERYTHING = """\
server = "nats://n1:4222"
context = "prod"
monitor = ["http://n1:8222"]
ntp = ["pool.example"]
samples = 3
interval = "5s"
timeout = "2s"
budget = 50
select = ["JSD4"]
extend-select = ["JSD101"]
ignore = ["JSD405"]
fail-on = "warning"
max-examples = 0
rule-directories = ["own"]
baseline = "known.json"
docs-url = "https://docs.example/jsdoctor/"
environment = "staging"

[rules.JSD401]
warn_pending = 100

[[suppress]]
rule = "JSD403"
subject = "APP > ORDERS > *"
reason = "OPS-4711"
expires = 2027-01-31

[severity]
JSD601 = "info"

[environments.staging]
fail-on = "critical"
select = ["JSD6"]
extend-select = ["JSD1"]
ignore = ["JSD605"]
baseline = "staging.json"
severity = { JSD602 = "error" }
[environments.staging.rules.JSD401]
warn_pending = 5

[[policies]]
code = "ORD001"
title = "Streams have an owner"
on = "stream"
severity = "error"
url = "https://wiki.example"
match = { name = "A*", account = "APP", metadata = { tier = "gold" } }
fields = { num_replicas = { min = 3 }, "metadata" = { owner = { required = true } } }
"""
REFUSED = [
    "smaples = 2",
    "samples = 0",
    "samples = true",
    "select = 'JSD4'",
    "select = ['']",
    "fail-on = 'fatal'",
    "max-examples = -1",
    "baseline = ''",
    "docs-url = 'docs.example'",
    "docs-url = 'https://a b'",
    "rules = 3",
    "severity = 'info'",
    "[severity]\nJSD601 = 'mild'",
    "environments = 3",
    "[environments.staging]\nmonitor = []",
    "[environments.staging]\nfail-on = 'never'",
    "policies = 3",
    "[[policies]]\ncode = 'JSD999'\ntitle = 't'\non = 'stream'\nfields = { name = { required = true } }",
    "[[policies]]\ncode = 'ORD001'\ntitle = 't'\non = 'bucket'\nfields = { name = { required = true } }",
    "[[policies]]\ncode = 'ORD001'\ntitle = 't'\non = 'stream'\nfields = {}",
    "rules.JSD401 = 5",
    "[suppress]\nrule = 'JSD403'",
    "[[suppress]]\nrule = 'JSD403'\nreason = 'x'",
    "[[suppress]]\nrule = 'JSD403'\nreason = ''\nexpires = 2027-01-01",
    "[[suppress]]\nrule = 'JSD403'\nreason = 'x'\nexpires = 2027-01-01\nuntil = 1",
]


def test_the_schema_knows_every_key_and_no_other() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == {*configuration._READERS, *configuration._TABLES}
    assert set(tomllib.loads(EVERYTHING)) == set(SCHEMA["properties"])


def test_a_file_with_everything_is_taken_by_both() -> None:
    VALIDATOR.validate(tomllib.loads(EVERYTHING))
    read = parse_configuration("jsdoctor.toml", EVERYTHING)
    assert (read.baseline, read.samples, read.waivers[0].line) == ("known.json", 3, 22)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("[rules.JSD401]\nwarn = 5\n\n[rules.JSD402]\nwarn = 6\n", [2, 5]),
        ("[rules]\nJSD401 = { warn = 5 }\nJSD402 = { warn = 6 }\n", [2, 3]),
        ("rules.JSD401.warn = 5\nrules.JSD402.warn = 6\n", [1, 2]),
        ("[rules.JSD401]\n# warn\n'warn' = 5\n", [3]),
    ],
)
def test_each_setting_of_a_rule_has_its_own_line(text: str, lines: list[int]) -> None:
    assert [setting.line for setting in parse_configuration("jsdoctor.toml", text).rule_settings] == lines


@pytest.mark.parametrize("text", REFUSED)
def test_what_one_refuses_the_other_refuses(text: str) -> None:
    assert not VALIDATOR.is_valid(tomllib.loads(text))
    with pytest.raises(ConfigurationError):
        parse_configuration("jsdoctor.toml", text)

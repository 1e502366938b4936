"""Policies, severities and environments: what a configuration file sets decides, on manifests and on real servers."""

import asyncio
import json
from pathlib import Path
from subprocess import CompletedProcess

import nats
import pytest

from jsdoctor.configuration.file import Configuration, ConfigurationError, in_environment, parse_configuration
from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.render.formats import FORMATS
from tests.cli.invoke import jsdoctor
from tests.servers import ClusterFactory
from tests.support.deployment import add_consumer, add_stream

POLICY = """\
[[policies]]
code = "ORD001"
title = "Streams of orders are limited"
on = "stream"
severity = "error"
match = {{ name = "ORDERS*" }}
[policies.fields]
{fields}
"""
STREAM = """\
apiVersion: jetstream.nats.io/v1beta2
kind: Stream
metadata: {{name: orders}}
spec:
  name: {name}
  subjects: ["orders.>"]
{spec}
"""


def judged(tmp_path: Path, fields: str, spec: str, name: str = "ORDERS", *more: str) -> CompletedProcess[str]:
    (tmp_path / "jsdoctor.toml").write_text(POLICY.format(fields=fields), "utf-8")
    (tmp_path / "s.yaml").write_text(STREAM.format(name=name, spec=spec), "utf-8")
    config = ["--config", str(tmp_path / "jsdoctor.toml")]
    return jsdoctor(
        "check", "--manifest", str(tmp_path / "s.yaml"), *config, "--format", "json", "-vv", *more, cwd=tmp_path
    )


def outcome(run: CompletedProcess[str], code: str = "ORD001") -> str:
    document = json.loads(run.stdout)
    return next(str(rule["outcome"]) for rule in document["rules"] if rule["code"] == code)


@pytest.mark.parametrize(
    ("fields", "spec"),
    [
        ("description = { required = true }", "description: text"),
        ('compression = { one-of = ["s2"] }', "compression: s2"),
        ("first_seq = { min = 5 }", "firstSequence: 7"),
        ("allow_atomic = { one-of = [true] }", "allowAtomicPublish: true"),
    ],
)
def test_a_field_that_is_not_read_of_the_manifest_is_not_evaluated(tmp_path: Path, fields: str, spec: str) -> None:
    assert outcome(judged(tmp_path, fields, f"  {spec}")) == "not_evaluated"


def test_a_finding_names_field_value_demand_and_line(tmp_path: Path) -> None:
    run = judged(tmp_path, "num_replicas = { min = 3 }", "  replicas: 2")
    assert run.returncode == 1
    (failed,) = [
        result
        for result in json.loads(run.stdout)["results"]
        if result["code"] == "ORD001" and result["outcome"] == "fail"
    ]
    assert failed["severity"] == "error"
    assert failed["message"] == "num_replicas is 2 and must be at least 3"
    assert failed["evidence"][0]["path"].startswith("line 7")


def test_other_streams_are_not_judged(tmp_path: Path) -> None:
    run = judged(tmp_path, "num_replicas = { min = 3 }", "  replicas: 2", "PAYMENTS")
    assert outcome(run) == Outcome.NOT_APPLICABLE.value


def test_every_format_takes_the_code(tmp_path: Path) -> None:
    reports = {format_: tmp_path / f"report.{format_}" for format_ in FORMATS}
    outputs = [word for format_, path in reports.items() for word in ("-o", f"{format_}={path}")]
    run = judged(tmp_path, "num_replicas = { min = 3 }", "  replicas: 2", "ORDERS", *outputs)
    assert run.returncode in {1, 2}, run.stderr  # nagios ends with 2
    assert {format_ for format_, path in reports.items() if "ORD001" not in path.read_text("utf-8")} <= {"nagios"}


def test_waivers_and_selection_take_the_code(tmp_path: Path) -> None:
    waiver = '[[suppress]]\nrule = "ORD001"\nreason = "until the move"\nexpires = 2099-01-01\n'
    waived = judged(tmp_path, f"num_replicas = {{ min = 3 }}\n{waiver}", "  replicas: 2\n  maxBytes: 1")
    assert all(result["suppressed"] for result in json.loads(waived.stdout)["results"] if result["code"] == "ORD001")
    assert judged(tmp_path, "num_replicas = { min = 3 }", "  replicas: 2", "ORDERS", "--ignore", "ORD").returncode == 0
    only = judged(tmp_path, "num_replicas = { min = 3 }", "  replicas: 2", "ORDERS", "--select", "ORD001")
    assert [rule["code"] for rule in json.loads(only.stdout)["rules"]] == ["ORD001"]


@pytest.mark.real
def test_policies_on_a_live_deployment(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory()

    async def fill() -> None:
        client = await nats.connect(cluster.url("app"))
        await add_stream(client, "ORDERS", subjects=["orders.>"], max_age=3_600_000_000_000)
        await add_stream(client, "ORDERS_OLD", subjects=["old.>"], metadata={"owner": "me"})
        await add_consumer(client, "ORDERS", "slow", ack_policy="none")
        await client.close()

    asyncio.run(fill())
    fields = 'metadata.owner = { required = true }\nmax_age = { max = "24h" }\n'
    consumers = '[[policies]]\ncode = "CON001"\ntitle = "Acknowledged"\non = "consumer"\nmatch = { stream = "ORD*" }\n'
    consumers += '[policies.fields]\nack_policy = { one-of = ["explicit"] }\n'
    (tmp_path / "jsdoctor.toml").write_text(POLICY.format(fields=fields) + consumers, "utf-8")
    config = ["--config", str(tmp_path / "jsdoctor.toml"), "--select", "ORD001", "--select", "CON001"]
    run = jsdoctor("check", "-s", cluster.url("app"), *config, "--format", "json", "--interval", "10ms", cwd=tmp_path)
    messages = {(result["subject"]["name"], result["message"]) for result in json.loads(run.stdout)["results"]}
    assert messages == {
        ("ORDERS", "metadata.owner is not set and must be set"),
        ("ORDERS_OLD", "max_age is unlimited and must be at most 1d"),
        ("slow", "ack_policy is none and must be explicit"),
    }
    assert run.returncode == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[policies]]\ncode = "JSD999"\ntitle = "t"\non = "stream"', "the code 'JSD999' must be capital"),
        ('[[policies]]\ncode = "ORD001"', "'title' is missing"),
        ('[[policies]]\ncode = "ORD001"\ntitle = "t"\non = "streams"', "did you mean 'stream'"),
        (POLICY.format(fields="replicas = { min = 3 }"), "no field 'replicas'"),
        (POLICY.format(fields="num_replicas = { min = true }"), "True is no number"),
        (POLICY.format(fields="max_age = { max = 5 }"), "5 is no duration"),
        (POLICY.format(fields='max_bytes = { max = "5 apples" }'), "is no size"),
        (POLICY.format(fields="storage = { min = 3 }"), "it has no 'min'"),
        (POLICY.format(fields='name = { pattern = "(" }'), "no regular expression"),
        (POLICY.format(fields="name = { patern = 1 }"), "did you mean 'pattern'"),
        (POLICY.format(fields="name = {}"), "needs a condition"),
        (POLICY.format(fields=""), "'fields' is missing"),
        ("policies = 3", "must hold tables"),
        ('[severity]\nJSD601 = "mild"', "'JSD601' is 'mild', not one of"),
        ("[environments]\nstaging = 1", "must be a table"),
        ('[environments.staging]\nfail_on = "info"', "did you mean 'fail-on'"),
        ('[environments.staging]\nfail-on = "never"', "'fail-on'"),
    ],
)
def test_mistakes_name_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_configuration("jsdoctor.toml", text)
    assert message in str(raised.value)
    assert str(raised.value).startswith("jsdoctor.toml:")


def test_two_policies_with_one_code_are_refused() -> None:
    twice = POLICY.format(fields="num_replicas = { min = 3 }") * 2
    with pytest.raises(ConfigurationError, match=r"jsdoctor\.toml:9: .*used twice"):
        parse_configuration("jsdoctor.toml", twice)


ENVIRONMENTS = """\
fail-on = "warning"
ignore = ["JSD602"]
[severity]
JSD605 = "error"
[rules.JSD401]
warn_pending = 10
[environments.staging]
fail-on = "critical"
severity = { JSD6 = "info" }
[environments.staging.rules.JSD401]
warn_pending = 20
[environments.production]
"""


def test_an_environment_replaces_and_adds() -> None:
    config = parse_configuration("jsdoctor.toml", ENVIRONMENTS)
    staging = in_environment(config, "staging")
    assert (staging.fail_on, staging.ignore) == (Severity.CRITICAL, ("JSD602",))
    assert [setting.value for setting in staging.rule_settings] == [10, 20]
    assert [severity for _, severity, _ in staging.severities] == [Severity.ERROR, Severity.INFO]
    assert in_environment(config, "production").fail_on is Severity.WARNING


def test_an_unknown_environment_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'staging'"):
        in_environment(parse_configuration("jsdoctor.toml", ENVIRONMENTS), "stagin")
    with pytest.raises(ConfigurationError, match="no configuration file was read"):
        in_environment(Configuration(), "staging")


@pytest.mark.parametrize(("chosen", "code"), [([], 1), (["--environment", "staging"], 0), (["--environment", "x"], 2)])
def test_the_environment_decides_the_exit_code(tmp_path: Path, chosen: list[str], code: int) -> None:
    fields = 'num_replicas = { min = 3 }\n[environments.staging]\nseverity = { ORD001 = "info" }\n'
    assert judged(tmp_path, fields, "  replicas: 2\n  maxBytes: 1", "ORDERS", *chosen).returncode == code


def test_the_variable_and_the_file_choose_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = 'num_replicas = {{ min = 3 }}\n[environments.staging]\nseverity = {{ ORD001 = "info" }}\n'.format()
    monkeypatch.setenv("JSDOCTOR_ENVIRONMENT", "staging")
    assert judged(tmp_path, fields, "  replicas: 2\n  maxBytes: 1").returncode == 0
    monkeypatch.setenv("JSDOCTOR_ENVIRONMENT", "other")
    assert judged(tmp_path, fields, "  replicas: 2\n  maxBytes: 1").returncode == 2


def test_explain_list_and_config_show(tmp_path: Path) -> None:
    text = ENVIRONMENTS + POLICY.format(fields="num_replicas = { min = 3 }")
    (tmp_path / "jsdoctor.toml").write_text(text, "utf-8")
    assert "`num_replicas`" in jsdoctor("explain", "ORD001", cwd=tmp_path).stdout
    assert "ORD001" in jsdoctor("rules", "list", cwd=tmp_path).stdout
    shown = jsdoctor("config", "show", "--environment", "staging", cwd=tmp_path).stdout
    assert "environment" in shown
    assert "policy ORD001" in shown
    assert "severity JSD6" in shown
    assert "20" in shown

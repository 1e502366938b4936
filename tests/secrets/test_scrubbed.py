"""No secret that a text from outside holds is in a report, in whatever format."""

from datetime import UTC, datetime

import pytest

from jsdoctor.model.finding import Finding, Observation, Offer, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import EvidenceOrigin, Incident, Report, Result
from jsdoctor.redaction.redact import scrub_line
from jsdoctor.redaction.scrubbed import scrubbed, scrubbed_fields
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.options import RenderOptions
from tests.support.ruleset import rules

NOW = datetime(2026, 11, 22, tzinfo=UTC)
VALUE = "pl4nted-s3cr3t-value"
KINDS = {
    "url": f"nats://app:{VALUE}@10.0.0.1:4222",
    "token url": f"nats://{VALUE}@10.0.0.1:4222",
    "seed": "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
    "jwt": f"eyJ0eXAiOiJKV1QifQ.eyJq{VALUE}.c2lnbmF0dXJl",
    "pem": f"-----BEGIN PRIVATE KEY-----MIIE{VALUE}-----END PRIVATE KEY-----",
    "password": f"password={VALUE}",
    "pass": f"pass: {VALUE}",
    "token": f'auth_token: "{VALUE}"',
    "bearer": f"Authorization: Bearer {VALUE}",
    "aws": f"aws_secret_access_key={VALUE}",
    "api key": f"api-key={VALUE}",
}


def report(text: str) -> Report:
    """A report that has the text wherever a text from outside can stand."""
    subject = Subject(kind="consumer", name=f"c {text}", account=f"a {text}", stream=f"s {text}")
    finding = Finding(
        subject=subject,
        message=f"its client is {text}, and it waits",
        measured=text,
        threshold=text,
        evidence=(Observation(f"n1 {text}", f"config {text}", {"name": text, "list": [text]}, NOW),),
        remedy={"value": text},
        how_to_get=f"ask {text}",
    )
    result = Result(rules()[0], finding, Offer("consumer.inspect", "read", (f"nats consumer info {text}",)))
    return Report(
        version="1",
        started=NOW,
        finished=NOW,
        sources=(EvidenceOrigin("live", text, NOW),),
        verdicts=(),
        results=(result,),
        gaps=(Gap("reply", subject, f"it said {text}", f"run {text}"),),
        headline=f"looked at {text}",
        incidents=(Incident((result,)),),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format_", FORMATS)
def test_no_format_shows_a_secret(kind: str, format_: str) -> None:
    secret = KINDS[kind] if kind == "seed" else VALUE
    options = RenderOptions(verbose=2, max_examples=0)
    assert secret in str(report(KINDS[kind]))
    assert secret not in FORMATS[format_](scrubbed(report(KINDS[kind])), options)


def test_nothing_else_changes() -> None:
    plain = report("client 7 of 10.0.0.1:4222, key by key, with a token")
    assert scrubbed(plain) is plain


def test_a_value_under_a_key_of_a_secret() -> None:
    seen = Observation("n1", "connect", {"user": "app", "auth_token": "hunter2hunter2", "key": "max_age"})
    assert scrubbed(seen).value == {"user": "app", "auth_token": "[redacted:key]", "key": "max_age"}


def test_captured_fields_of_a_line() -> None:
    line = "[WRN] account app with password=hunter2hunter2 is over its limit"
    captured = (("account", "app"), ("login", "hunter2hunter2"))
    assert scrubbed_fields(captured, line, scrub_line(line)) == (("account", "app"), ("login", "[redacted:key]"))
    assert scrubbed_fields(captured, "no secret", "no secret") is captured

"""What `check --loki` says: the same as `--logs` on the same lines, and never a pass on lines that were not read."""

import base64
import json
import ssl
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.loki.documented import DocumentedLoki, Refused, serving
from tests.loki.shipping import Done, S, from_files, incidents_of, jsdoctor, reported, ship
from tests.sources.certificates import Certificates
from tests.support.evidence import FIXTURES

QUERY = ("--loki-query", '{app="nats"}')
INCIDENTS = incidents_of("2.15.1")
LOG = FIXTURES / "logs" / "2.15.1" / "l3-bad_meta_n1.log"


def check(loki: DocumentedLoki, *options: str, login: str = "") -> Done:
    with serving(loki) as url:
        return jsdoctor("check", "--loki", url.replace("://", f"://{login}"), *QUERY, *options)


def shipped(*paths: Path, **options: int) -> DocumentedLoki:
    loki = DocumentedLoki()
    ship(lambda labels, lines: loki.push(labels, list(lines)), paths, time.time_ns() - S, **options)
    return loki


@pytest.mark.parametrize("name", INCIDENTS)
def test_findings_are_those_of_the_files(name: str, tmp_path: Path) -> None:
    loki = shipped(*INCIDENTS[name])
    loki.max_entries = 700
    report, wanted = check(loki, "--format", "json", "-vv"), from_files(INCIDENTS[name], tmp_path)
    assert reported(report.report) == reported(wanted.report)
    assert report.exit_code == wanted.exit_code


def test_an_empty_reply_is_a_gap() -> None:
    done = check(DocumentedLoki(), "--format", "json")
    assert done.exit_code == 3
    report = done.report
    assert any('Loki has no line of {app="nats"}' in gap["reason"] for gap in report["gaps"])
    assert "pass" not in {rule["outcome"] for rule in report["rules"]}


def test_an_error_half_way_is_a_gap() -> None:
    loki = shipped(*INCIDENTS["c1"])
    loki.max_entries = 100

    def fail(number: int, *_: object) -> None:
        if number > 3:
            raise Refused(400, "something else")

    loki.before = fail
    done = check(loki, "--format", "json")
    assert done.exit_code == 3
    assert any("were not read: Loki at" in gap["reason"] for gap in done.report["gaps"])
    assert done.report["rules"]


@pytest.mark.parametrize(
    ("options", "login", "header"),
    [
        (["--loki-token", "s3cret"], "", ("authorization", "Bearer s3cret")),
        ([], "me:s3cret@", ("authorization", "Basic " + base64.b64encode(b"me:s3cret").decode())),
        (["--loki-header", "X-Scope-OrgID: s3cret"], "", ("x-scope-orgid", "s3cret")),
    ],
    ids=["bearer", "basic", "tenant"],
)
def test_every_way_in_is_used_and_shown_nowhere(options: list[str], login: str, header: tuple[str, str]) -> None:
    loki = shipped(LOG)
    done = check(loki, *options, "--show-queries", "--format", "json", login=login)
    loki.before = _refuse(401, "Unauthorized")
    refused = check(loki, *options, "--show-queries", "--format", "json", login=login)
    assert "s3cret" not in done.stdout + done.stderr + refused.stdout + refused.stderr
    assert all(headers[header[0]] == header[1] for _, _, headers in loki.requests)
    assert 'limit 5000 {app="nats"}' in done.stderr
    assert "refuses this login (HTTP 401)" in refused.stderr


def test_a_token_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOKI_BEARER_TOKEN", "s3cret")
    loki = shipped(LOG)
    check(loki)
    assert loki.requests[0][2]["authorization"] == "Bearer s3cret"


def _refuse(status: int, body: str, kind: str = "text/plain", **headers: str):  # type: ignore[no-untyped-def]
    def refuse(*_: object) -> None:
        raise Refused(status, body, kind, **headers)

    return refuse


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        ((401, "no org id"), "wants a tenant (HTTP 401: no org id)"),
        ((404, "404 page not found"), "there is no Loki API (HTTP 404)"),
        ((200, "<html><title>Sign in</title>", "text/html"), "a page of HTML, perhaps that of a login"),
        ((200, "{}", "application/json"), "is no reply of the Loki API"),
        ((200, '{"status":"success","data":{"resultType":"matrix","result":[]}}'), "gives matrix and no log lines"),
        ((200, '{"status":"success","data":{"resultType":"streams","result":[{"stream":{},"values":[["x","y"]]}]}}'),
         "not as Loki sends them"),
        ((400, "parse error at line 1, col 7: syntax error: unexpected IDENTIFIER"), "parse error at line 1, col 7"),
        ((500, "empty ring"), "(HTTP 500): empty ring"),
        ((502, "<html>Bad Gateway</html>", "text/html"), "(HTTP 502): a page of HTML"),
    ],
)  # fmt: skip
def test_a_refusal_is_one_sentence(refusal: tuple[int, str], message: str) -> None:
    loki = DocumentedLoki(before=_refuse(*refusal))
    done = check(loki)
    assert done.exit_code == 3
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert not done.stdout


def test_a_redirect_to_a_login_is_reported() -> None:
    loki = DocumentedLoki(before=_refuse(302, "", Location="/login"))
    assert "redirects to /login" in check(loki).stderr


def test_nothing_listens() -> None:
    done = jsdoctor("check", "--loki", "http://127.0.0.1:1", *QUERY)
    assert done.exit_code == 3
    assert "connection refused" in done.stderr


def test_other_evidence_is_judged_where_loki_fails() -> None:
    done = jsdoctor("check", "--loki", "http://127.0.0.1:1", *QUERY, "--logs", str(LOG), "--format", "json")
    assert done.report["results"]
    assert any("connection refused" in gap["reason"] for gap in done.report["gaps"])


def test_names_and_zones_are_given_as_for_files() -> None:
    options = ("--server-name", "loki/l3-*=north", "--timezone", "+02:00")
    results = check(shipped(LOG), *options, "--format", "json").report["results"]
    (message,) = {result["message"] for result in results if result["code"] == "JSD804"}
    assert message.endswith("logged once by north at 2026-11-21 07:34:07Z")


def test_tls_is_verified(tmp_path: Path) -> None:
    made = Certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*made.localhost)
    context.load_verify_locations(made.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    with serving(shipped(LOG), context) as url:
        options = ("check", "--loki", url, *QUERY, "--tlsca")
        other = jsdoctor(*options, str(made.other_ca))
        assert "its certificate is not trusted" in other.stderr
        assert jsdoctor(*options, str(made.ca)).exit_code == 3
        client = ("--tlscert", str(made.client[0]), "--tlskey", str(made.client[1]))
        assert jsdoctor(*options, str(made.ca), *client).exit_code == 1


def test_the_authority_of_a_context_is_not_the_only_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A context names the authority of NATS servers; Loki may have a certificate of one that this machine trusts."""
    made = Certificates(tmp_path)
    contexts = tmp_path / "nats" / "context"
    contexts.mkdir(parents=True)
    (contexts / "prod.json").write_text(json.dumps({"url": "tls://127.0.0.1:1", "ca": str(made.other_ca)}))
    (tmp_path / "nats" / "context.txt").write_text("prod")
    monkeypatch.setenv("SSL_CERT_FILE", str(made.ca))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*made.localhost)
    with serving(shipped(LOG), context) as url:
        assert jsdoctor("check", "--loki", url, *QUERY).exit_code == 1
        refused = jsdoctor("check", "--loki", url, *QUERY, "--tlsca", str(made.other_ca))
        assert "its certificate is not trusted" in refused.stderr


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("jsdoctor.sources.loki.servers.Spool.add", full)
    done = check(shipped(LOG))
    assert done.exit_code == 3
    assert "cannot be written to" in done.stderr
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize("command", [["audit", "--engine", "local"], ["diagnose"]])
def test_other_commands_read_loki(command: list[str]) -> None:
    loki = shipped(LOG)
    with serving(loki) as url:
        done = jsdoctor(*command, "--loki", url, *QUERY, "--since", "2h", "--format", "json")
    assert done.exit_code in (0, 1, 3)
    assert any(source["kind"] == "loki" for source in done.report["sources"])
    first = loki.requests[-1][1]
    assert int(loki.requests[0][1]["end"]) - int(first["start"]) == pytest.approx(2 * 3600 * S, rel=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--loki", "h"], "log lines of NATS are not selected"),
        (["--loki-query", '{app="nats"}'], "no Loki is named"),
        (["--loki-token", "s3cret"], "no Loki is named"),
        (["--loki", "ftp://x", *QUERY], "must be http or https"),
        (["--loki", "h", *QUERY, "--loki-header", "s3cret"], "that is no header"),
        (["--loki", "h", *QUERY, "--loki-header", "X-Scope-OrgID: s3cret\u00e9"], "that is no header"),
        (["--loki", "h", *QUERY, "--loki-token", "s3cret\u00e9"], "that is no token"),
        (["--loki", "h", "--loki-query", 'rate({app="nats"}[5m])'], "does not begin with a stream selector"),
        (["--loki", "h", *QUERY, "--master", "spark://h:7077"], "--master cannot be given with --loki"),
        (["--show-queries"], "no service is queried"),
    ],
)  # fmt: skip
def test_options_that_mean_nothing_are_refused(options: list[str], message: str) -> None:
    done = jsdoctor("check", *options)
    assert done.exit_code == 2, done.stderr
    assert message in done.stderr
    assert "s3cret" not in done.stderr


def test_a_window_is_requested_of_loki() -> None:
    loki = shipped(LOG)
    seen: list[Mapping[str, str]] = []
    loki.before = lambda *given: seen.append(given[2])
    check(loki, "--since", "2026-11-21T10:00:00Z", "--until", "2026-11-21T10:30:00Z")
    assert int(seen[0]["start"]) == 1_795_255_200 * S
    assert int(seen[0]["end"]) == 1_795_257_000 * S + 1

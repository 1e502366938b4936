"""No secret stays in what is kept, whichever way it is written, and what is kept is still what was said."""

import base64
import json
import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import nkeys
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.redaction import redact as redaction
from jsdoctor.redaction.redact import Redacted, Secret, redact, scrub_line
from jsdoctor.redaction.secret_forms import without_named
from tests.sources.operator_mode import Key
from tests.support.evidence import base_names, samples_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
PASSWORD = 'pä"ss\\w<0rd>&/1'
USER = Key(nkeys.PREFIX_BYTE_USER)
JWT = USER.jwt(USER.public, "app", {"type": "user"})
PEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHx\nqqqq\n-----END PRIVATE KEY-----"


def body(value: bytes | Any, known: tuple[Secret, ...] = ()) -> tuple[bytes, Redacted]:
    """One reply, redacted."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    done = redact([Sample(NOW, (Exchange(Access.SYSTEM, Endpoint.VARZ, "X", NOW, 1, raw),))], known)
    return done.samples[0].exchanges[0].body, done


@pytest.mark.parametrize("name", base_names())
def test_replies_without_secrets_stay_as_they_are(name: str) -> None:
    samples = samples_of(name)
    done = redact(samples, [Secret("password", "not-in-there")])
    if "2.10" in name and done.counts:
        assert set(done.counts) == {"login"}  # see below
        done = Redacted(tuple(map(_without_connections, done.samples)), {})
        samples = tuple(map(_without_connections, samples))
    assert done == Redacted(samples, {}, ())


def _without_connections(sample: Sample) -> Sample:
    lists = (Endpoint.CONNZ, Endpoint.CONNZ_CLOSED)
    return Sample(sample.taken_at, tuple(e for e in sample.exchanges if e.endpoint not in lists), sample.gaps)


@pytest.mark.parametrize(("version", "shown"), [("2.10.26", False), ("2.11.1", False), ("2.11.2", True), ("", False)])
@pytest.mark.parametrize("access", [Access.SYSTEM, Access.MONITOR])
def test_users_that_may_be_tokens(version: str, shown: bool, access: Access) -> None:
    data = b'{"connections": [{"authorized_user": "t0\\"k3n", "name": "x"}]}'
    variables = Exchange(access, Endpoint.VARZ, "http://a:1/varz", NOW, 1, f'{{"version": "{version}"}}'.encode())
    wrapped = b'{"server": {"ver": "%s"}, "data": %s}' % (version.encode(), data)
    listed = Exchange(
        access, Endpoint.CONNZ, "http://a:1/connz?auth=true", NOW, 1, wrapped if access is Access.SYSTEM else data
    )
    done = redact([Sample(NOW, (variables, listed) if version else (listed,))])
    clean = done.samples[0].exchanges[-1].body
    assert (b"k3n" in clean) is shown
    assert (b"[redacted:login]" in clean) is not shown
    assert done.counts == ({} if shown else {"login": 1})


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(json.dumps(PASSWORD), id="ascii"),
        pytest.param(json.dumps(PASSWORD, ensure_ascii=False), id="utf-8"),
        pytest.param(json.dumps(PASSWORD).replace("<", "\\u003c").replace(">", "\\u003E"), id="as Go writes it"),
        pytest.param('"' + "".join(f"\\u{ord(letter):04x}" for letter in PASSWORD) + '"', id="all escaped"),
        pytest.param(json.dumps(quote(PASSWORD, safe="")), id="in a URL"),
        pytest.param(json.dumps(base64.b64encode(PASSWORD.encode()).decode()), id="base64"),
    ],
)
def test_a_given_password_however_it_is_written(written: str) -> None:
    raw = f'{{"a": {written}, {written}: [{written}], "b": "see {written[1:-1]}!", "n": 1}}'.encode()
    clean, done = body(raw, (Secret("password", PASSWORD),))
    mark = "[redacted:password]"
    assert json.loads(clean) == {"a": mark, mark: [mark], "b": f"see {mark}!", "n": 1}
    assert done.counts == {"password": 4}


SHAPES = [("seed", USER.seed), ("jwt", JWT), ("pem", PEM), ("pem", PEM[:-30]), ("url_login", "s3cr3t@")]


@pytest.mark.parametrize(
    ("kind", "secret"), SHAPES, ids=[f"{kind}-{number}" for number, (kind, _) in enumerate(SHAPES)]
)
def test_what_shows_itself(kind: str, secret: str) -> None:
    text = f"nats://bob:{secret}h:4222" if kind == "url_login" else f"it is {secret} \x07"
    clean, done = body({"description": text, "k": {text: 1}})
    assert secret.rstrip("@").encode() not in clean
    assert f"[redacted:{kind}]" in json.loads(clean)["description"]
    assert done.counts == {kind: 2}


def test_copies_of_what_was_learnt_from_one_reply_are_taken_out_of_all() -> None:
    first = {"remote": "tls://leaf:Gr33n-b0ttle@hub:7422", "config": {"auth_token": "T0ken-of-mine", "pwd": 12345678}}
    second = {"metadata": {"note": "ask for Gr33n-b0ttle", "T0ken-of-mine": "x"}, "name": "S 12345678", "n": 12345678}
    exchanges = tuple(
        Exchange(Access.SYSTEM, Endpoint.VARZ, "at T0ken-of-mine", NOW, 1, json.dumps(value).encode())
        for value in (second, first)
    )
    gap = Gap("stream", Subject("stream", "Gr33n-b0ttle", "APP"), "no Gr33n-b0ttle", "http://a:Gr33n-b0ttle@h")
    (sample,) = redact([Sample(NOW, exchanges, (gap,))]).samples
    shown = repr(sample) + "".join(exchange.body.decode() + exchange.target for exchange in sample.exchanges)
    assert "Gr33n" not in shown
    assert "T0ken" not in shown
    cleaned = json.loads(sample.exchanges[0].body)
    assert cleaned["name"] == "S [redacted:key]"
    assert cleaned["n"] == 12345678  # a number of the server's
    assert sample.gaps[0].subject.account == "APP"
    assert json.loads(sample.exchanges[1].body)["config"] == {"auth_token": "[redacted:key]", "pwd": "[redacted:key]"}


def test_ordinary_words_behind_a_secret_key_stay_elsewhere() -> None:
    clean, _ = body({"metadata": {"token": "workqueue"}, "retention": "workqueue"})
    assert json.loads(clean) == {"metadata": {"token": "[redacted:key]"}, "retention": "workqueue"}


@pytest.mark.parametrize("password", ["messages", "12345678", "stream_state", "nullnull"])
def test_a_password_that_is_an_ordinary_word_leaves_the_fields(password: str) -> None:
    reply = {"messages": 12345678, "stream_state": None, "name": f"x {password}", "list": [1, 12345678]}
    clean, done = body(reply, (Secret("password", password),))
    assert json.loads(clean) == reply | {"name": "x [redacted:password]"}
    assert done.counts == {"password": 1}


def test_a_given_password_in_a_url_is_taken_out_once() -> None:
    clean, done = body({"url": "nats://bob:hunter22x@h,nats://t0ken-of-bob@h"}, (Secret("password", "hunter22x"),))
    assert json.loads(clean) == {"url": "nats://bob:[redacted:password]@h,nats://[redacted:url_login]@h"}
    assert done.counts == {"password": 1, "url_login": 1}


def test_short_passwords_are_reported_not_searched() -> None:
    clean, done = body({"name": "app"}, (Secret("password", "app"), Secret("token", ""), Secret("password", "pw")))
    assert json.loads(clean) == {"name": "app"}
    assert done.too_short == ("password",)


def test_what_is_not_json_is_searched_too() -> None:
    for raw in (
        b"<html>hunter22x nats://a:b@c</html>",
        b'{"a": "hunter22x',
        b"\xffhunter22x",
        b"[" * 100_000 + b"hunter22x",
    ):
        clean, _ = body(raw, (Secret("password", "hunter22x"),))
        assert b"hunter22x" not in clean
        assert b"a:b@" not in clean


def test_an_escape_is_never_cut() -> None:
    clean, _ = body(b'{"a": "\\u003e12345x", "b": "\\u00eeyJaaaaaaaa.bbbbbbbb.c"}', (Secret("password", "e12345x"),))
    assert json.loads(clean) == {"a": ">12345x", "b": "îyJaaaaaaaa.bbbbbbbb.c"}


def test_no_secret_in_reprs() -> None:
    assert "hunter2" not in repr(Secret("password", "hunter2"))


TEXT = st.text(alphabet='ab1"\\/ :@<>&é\n,{}[]', max_size=6)


@given(
    secret=st.text(alphabet='ab1"\\/ :@<é,{}[]0e', min_size=6, max_size=9),
    parts=st.lists(TEXT, max_size=4),
    data=st.data(),
)
def test_never_there_afterwards_and_always_json(secret: str, parts: list[str], data: st.DataObject) -> None:
    assume(not any(secret in mark for mark in ("[redacted:password]", "[redacted:url_login]")))
    text = secret.join([*parts, ""]) + secret
    raw = json.dumps({"A" + text: [text, 11111111], "b": text}, ensure_ascii=data.draw(st.booleans())).encode()
    clean, _ = body(raw, (Secret("password", secret),))

    def strings(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [word for pair in value.items() for part in pair for word in strings(part)]
        return [word for item in value for word in strings(item)] if isinstance(value, list) else [str(value)]

    decoded = json.loads(clean)
    assert next(iter(decoded.values()))[1] == 11111111 if isinstance(next(iter(decoded.values())), list) else True
    marks = ("[redacted:password]", "[redacted:url_login]", "[redacted:key]")
    for word in strings(decoded):
        for mark in marks:
            word = word.replace(mark, "\0")  # noqa: PLW2901 - what is left around the marks
        assert secret not in word


def test_the_account_of_a_user_jwt_is_kept() -> None:
    account, signing_key = Key(nkeys.PREFIX_BYTE_ACCOUNT), Key(nkeys.PREFIX_BYTE_ACCOUNT)
    issued = account.jwt(USER.public, "app", {"type": "user"})
    signed = signing_key.jwt(USER.public, "app", {"type": "user", "issuer_account": account.public})
    clean, done = body({"connections": [{"jwt": issued}, {"jwt": signed}], "info": f"the JWT was {issued}"})
    kept = f"[redacted:jwt of account {account.public}]"
    assert json.loads(clean)["connections"] == [{"jwt": kept}, {"jwt": kept}]
    assert issued.encode() not in clean
    assert signed.encode() not in clean
    assert done.counts["jwt"] == 2


def test_nothing_is_kept_of_other_jwts() -> None:
    of_a_user = {"jwt": JWT}
    of_another_kind = {"jwt": "eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUifQ.c2ln"}
    clean, _ = body([of_a_user, of_another_kind])
    assert json.loads(clean) == [{"jwt": "[redacted:jwt]"}] * 2


@pytest.mark.parametrize(
    "line",
    [
        '[7] 2026/11/21 10:00:00.000000 [ERR] 10.0.0.9:4711 - cid:8 - authentication error - Token "s3cr3t-t0ken"',
        "connecting to nats://app:s3cr3t-t0ken@host:4222",
        '{"level":"error","msg":"cannot connect","token":"s3cr3t-t0ken"}',
        '{"log":"{\\"password\\": \\"s3cr3t-t0ken\\"}\\n","stream":"stderr"}',
        "options: user=app password=s3cr3t-t0ken tls=true",
        f"jwt {JWT} s3cr3t".replace("s3cr3t", ""),
        "[7] 2026/11/21 10:00:00.000000 [ERR] cannot reload: pass: s3cr3t-t0ken",
        "[7] 2026/11/21 10:00:00.000000 [DBG] env aws_secret_access_key=s3cr3t-t0ken region=eu",
        'level=error msg="refused" AWS_SECRET_ACCESS_KEY="s3cr3t t0ken"',
        "proxy said 401 to Authorization: Bearer s3cr3t-t0ken",
        "client_secret: s3cr3t-t0ken",
        "passphrase='s3cr3t t0ken'",
        '{"access_key":"s3cr3t-t0ken"}',
        "db.pwd=s3cr3t-t0ken",
    ],
)
def test_secrets_in_lines_of_logs(line: str) -> None:
    clean = scrub_line(line)
    assert "s3cr3t" not in clean
    assert JWT not in clean
    assert "[redacted:" in clean


@pytest.mark.parametrize(
    "line",
    [
        "[7] 2026/11/21 10:00:00.000000 [WRN] Plaintext passwords detected, use nkeys or bcrypt",
        "[7] 2026/11/21 10:00:00.000000 [INF] Listening for client connections on 127.0.0.1:4222",
        '[7] 2026/11/21 10:00:00.000000 [ERR] 10.0.0.9:1 - cid:8 - authentication error - User "bad"',
        "[7] 2026/11/21 10:00:00.000000 [ERR] 10.0.0.9:1 - cid:8 - authorization violation",
        "[7] 2026/11/21 10:00:00.000000 [INF] Trusted Operators: 1, keys are compared, bypass: off",
    ],
)
def test_other_lines_of_logs_stay(line: str) -> None:
    assert scrub_line(line) == line


@pytest.mark.parametrize(
    "line",
    ['JWT "token": "{}"', 'Token "{}": No such file', 'token: "{}"', 'password "{}"', '{{"jwt": "{}", "name": "x"}}'],
)
def test_values_in_quotes_behind_a_name(line: str) -> None:
    secret = "c0rrect-H0rse_Battery"
    assert secret.encode() not in without_named(line.format(secret).encode(), b"[redacted]")


def test_repeated_lines_are_searched_once_and_counted_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[bytes] = []

    def counting(text: bytes, mark: bytes) -> bytes:
        searched.append(text)
        return without_named(text, mark)

    monkeypatch.setattr(redaction, "without_named", counting)
    given = Secret("password", "the-given-password")
    lines = [
        b"[7] [ERR] the-given-password",
        b"[7] [ERR] dial nats://app:s3cret-pass@host:4222",
        b"[7] [ERR] password=hunter2-hunter2",
        b"[7] [INF] Server is ready",
    ]
    once = redact((), [given], [b"\n".join(lines)])
    searched.clear()
    often = redact((), [given], [b"\n".join(lines * 25_000)])
    assert len(searched) == len(lines)
    assert often.texts == (b"\n".join([once.texts[0]] * 25_000),)
    assert often.counts == {kind: count * 25_000 for kind, count in once.counts.items()}
    assert once.counts == {"key": 1, "password": 1, "url_login": 1}
    for secret in (b"the-given-password", b"s3cret-pass", b"hunter2"):
        assert secret not in often.texts[0]


_SOME_UNITS = ("a", '"', "token=", "://a:b@")


@pytest.mark.parametrize(
    "unit",
    [
        *_SOME_UNITS,
        *(
            pytest.param(unit, marks=pytest.mark.nightly)
            for unit in ("a-", "\\", "é", " ", "%", "pass ", "passpass", '\\"token":')
        ),
    ],
)
def test_the_time_grows_with_the_length_of_what_is_beside_the_name_of_a_secret(unit: str) -> None:
    """Beside copies of it, and of parts of it, of longer runs: with its square, 140 KB took half a minute."""

    def taken(length: int) -> float:
        run = unit * (length // len(unit))
        secret = run + "Z9z"
        started = time.process_time()
        clean, done = body({"a": [run, run + run, f"see {secret}!"], "password": secret, "note": f"password={run}"})
        assert b"Z9z" not in clean
        assert done.counts["key"] >= 2
        json.loads(clean)
        return time.process_time() - started

    taken(1_000)
    short, middle, long = map(taken, (35_000, 70_000, 140_000))
    assert long < 8 * short + 0.5
    assert long < 4 * middle + 0.5


def test_a_reply_of_many_secrets_takes_no_longer_than_its_length_explains() -> None:
    """Each value is learnt, and searched for in the whole reply."""
    users = [{"name": f"user {number}", "password": f"of-all-users-{number:08}"} for number in range(5_000)]
    started = time.process_time()
    clean, done = body({"users": users, "note": [user["password"] for user in users]})
    assert time.process_time() - started < 5
    assert b"of-all-users" not in clean
    assert done.counts == {"key": 10_000}

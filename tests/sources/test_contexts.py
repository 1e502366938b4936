"""Contexts on disk, environment and options, merged as the `nats` command merges them; every mistake told by name."""

import base64
import json
import os
import stat
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nkeys
import pytest

from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.connect.contexts import config_home, known_contexts
from jsdoctor.sources.connect.credentials import LoginKind
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.server_urls import redact
from jsdoctor.sources.connect.settings import ConnectionSettings, resolve
from tests.sources.conftest import SECRET
from tests.sources.operator_mode import Key, Operator, creds


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A configuration directory as `nats` lays it out."""
    (tmp_path / "nats" / "context").mkdir(parents=True)
    return tmp_path


Write = Callable[..., Path]
Settings = Callable[..., ConnectionSettings]
Problem = Callable[..., UsageProblem]


@pytest.fixture
def write(home: Path) -> Write:
    """Write a context, from its values or as raw text; `selected` also selects it."""

    def run(name: str, content: Mapping[str, object] | str, *, selected: bool = False) -> Path:
        path = home / "nats" / "context" / f"{name}.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        if selected:
            (home / "nats" / "context.txt").write_text(f"{name}\n")
        return path

    return run


@pytest.fixture
def settings(home: Path) -> Settings:
    """Resolve these options; `environ` is the whole environment."""

    def run(environ: Mapping[str, str] | None = None, **options: Any) -> ConnectionSettings:
        resolved = resolve(ConnectionOptions(**options), environ or {}, home)
        assert SECRET not in f"{resolved!r} {resolved} {ConnectionOptions(**options)!r}"
        return resolved

    return run


@pytest.fixture
def problem(settings: Settings) -> Problem:
    """The problem in these options. It says what to do next and holds no secret."""

    def run(environ: Mapping[str, str] | None = None, **options: Any) -> UsageProblem:
        with pytest.raises(UsageProblem) as caught:
            settings(environ, **options)
        assert caught.value.hint
        assert SECRET not in f"{caught.value!r} {caught.value}"
        return caught.value

    return run


# --- which context ----------------------------------------------------------------------------------------------


def test_context_is_picked_by_option_then_variable_then_selection(settings: Settings, write: Write) -> None:
    for name in ("flag", "variable", "chosen"):
        write(name, {"url": f"nats://{name}:1"}, selected=name == "chosen")
    assert settings().servers == ("nats://chosen:1",)
    assert settings({"NATS_CONTEXT": "variable"}).servers == ("nats://variable:1",)
    resolved = settings({"NATS_CONTEXT": "variable"}, context="flag")
    assert (resolved.context_name, resolved.origins["context_name"]) == ("flag", "--context")
    assert settings({"NATS_CONTEXT": "variable"}, no_context=True).servers == ("nats://127.0.0.1:4222",)


def test_a_path_to_a_json_file_is_a_context(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"url": "nats://mine:1"}')
    assert settings(context=str(tmp_path / "mine.json")).servers == ("nats://mine:1",)
    assert settings({"NATS_CONTEXT": str(tmp_path / "mine.json")}).context_name == "mine"


def test_config_home_follows_xdg() -> None:
    assert config_home({"XDG_CONFIG_HOME": "/etc/x", "HOME": "/h"}) == Path("/etc/x")
    assert config_home({"HOME": "/h"}) == Path("/h/.config")


def test_empty_files_and_other_files_are_no_contexts(home: Path, write: Write) -> None:
    write("b", {})
    write("a", {})
    write("empty", "")
    (home / "nats" / "context" / "note.txt").write_text("x")
    assert known_contexts(home) == ["a", "b"]
    assert known_contexts(home / "nowhere") == []


def test_unknown_context_is_reported_with_the_nearest_and_all_names(problem: Problem, write: Write, home: Path) -> None:
    write("production", {})
    write("staging", {})
    error = problem(context="prodution")
    assert "--context: there is no context 'prodution'" in error.message
    assert "did you mean 'production'?" in error.message
    assert "production, staging" in error.hint
    (home / "nats" / "context.txt").write_text("gone")
    error = problem(server="nats://here:1")
    assert str(home / "nats" / "context.txt") in error.message
    assert "--no-context" in error.hint


@pytest.mark.parametrize("name", ["../x", "a/b", "missing/file.json", "a\\b"])
def test_names_that_cannot_be_contexts(problem: Problem, name: str) -> None:
    assert "is not a context" in problem({"NATS_CONTEXT": name}).message


@pytest.mark.parametrize(
    ("content", "place", "what"),
    [
        ('{"url": "x",\n  "user" "bob"}', ":2:10:", "not valid JSON"),
        ('{"url": ' + "1" * 5_000 + "}", ":1:1:", "thousands of digits"),
        ("", ":1:1:", "empty"),
        ('["url"]', ":1:1:", "must be a JSON object, it is a list"),
        ('{\n"description": "url",\n"url": 5}', ":3:", "'url' must be a text, it is a number"),
        ('{"tls_first": "yes"}', ":1:", "'tls_first' must be true or false, it is a text"),
    ],
)
def test_damaged_contexts_are_reported_with_their_place(
    problem: Problem, write: Write, content: str, place: str, what: str
) -> None:
    path = write("bad", content)
    message = problem(context="bad").message
    assert f"{path}{place}" in message
    assert what in message


def test_binary_and_unreadable_contexts(problem: Problem, write: Write) -> None:
    path = write("bad", "{}")
    path.write_bytes(b'{\n"url": "\xff"}')
    assert f"{path}:2: " in problem(context="bad").message


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_context_without_permission(problem: Problem, write: Write) -> None:
    path = write("bad", "{}")
    path.chmod(0)
    assert "permission denied" in problem(context="bad").message


# --- precedence -------------------------------------------------------------------------------------------------

CONTEXT = {
    "url": "nats://ctx:1",
    "jetstream_domain": "hub",
    "inbox_prefix": "_CTX",
    "tls_first": True,
    "user": "ctx",
    "password": SECRET,
}


def test_each_value_comes_from_the_nearest_place(settings: Settings, write: Write) -> None:
    path = write("c", CONTEXT, selected=True)
    resolved = settings({"NATS_URL": "nats://env:1", "NATS_TIMEOUT": "1m30s"}, inbox_prefix="_FLAG")
    assert resolved.servers == ("nats://env:1",)
    assert resolved.timeout_s == 90
    assert resolved.inbox_prefix == "_FLAG"
    assert resolved.js_api_prefix == "$JS.hub.API"
    assert resolved.tls_first
    assert (resolved.login.user, resolved.login.password) == ("ctx", SECRET)
    context = f"of context 'c' ({path})"
    assert resolved.origins == {
        "servers": "NATS_URL",
        "timeout_s": "NATS_TIMEOUT",
        "budget": "default",
        "inbox_prefix": "--inbox-prefix",
        "js_api_prefix": f"key 'jetstream_domain' {context}",
        "tls_first": f"key 'tls_first' {context}",
        "login": f"key 'user' {context}",
        **dict.fromkeys(("tls_cert", "tls_key", "tls_ca"), "default"),
        "context_name": str(path.parent.parent / "context.txt"),
    }
    assert settings({"NATS_URL": "nats://env:1"}, server="flag:1").servers == ("nats://flag:1",)
    assert settings({"NATS_TIMEOUT": "9s"}, timeout=1.5, tlsfirst=False).timeout_s == 1.5
    assert not settings(tlsfirst=False).tls_required


def test_empty_values_are_not_given(settings: Settings, write: Write) -> None:
    write("c", {"url": "nats://ctx:1", "creds": "", "user": ""}, selected=True)
    resolved = settings({"NATS_URL": "", "NATS_CREDS": "", "NATS_CONTEXT": ""}, server="", user="")
    assert resolved.servers == ("nats://ctx:1",)
    assert not resolved.login


def test_the_nearest_place_alone_decides_the_login(settings: Settings, write: Write, tmp_path: Path) -> None:
    operator = Operator()
    (tmp_path / "sys.creds").write_text(creds(*operator.user(operator.system)))
    write("c", {**CONTEXT, "url": f"nats://url:{SECRET}@ctx:1"}, selected=True)
    assert settings().server_logins[0].user == "url"
    for resolved in (
        settings(creds=str(tmp_path / "sys.creds")),
        settings({"NATS_CREDS": str(tmp_path / "sys.creds")}),
        settings({"NATS_USER": "env", "NATS_PASSWORD": SECRET}, creds=str(tmp_path / "sys.creds")),
    ):
        assert resolved.login.kind is LoginKind.CREDS
        assert resolved.server_logins == ()
        assert resolved.servers == ("nats://ctx:1",)
    resolved = settings({"NATS_URL": f"nats://url:{SECRET}@env:1"})
    assert resolved.server_logins[0].password == SECRET


def test_password_belongs_to_its_user(settings: Settings, problem: Problem, write: Write) -> None:
    write("c", CONTEXT, selected=True)
    resolved = settings({"NATS_PASSWORD": SECRET}, user="bob")
    assert (resolved.login.kind, resolved.login.user) == (LoginKind.USER, "bob")
    assert settings(user="ctx").login.password == SECRET
    assert settings(password=SECRET).login.user == "ctx"
    alone = settings(user=SECRET).login
    assert (alone.kind, alone.token) == (LoginKind.TOKEN, SECRET)
    assert "no user" in problem(password=SECRET, no_context=True).message
    assert settings({"NATS_PASSWORD": SECRET}, no_context=True).login.kind is LoginKind.NONE


def test_a_user_without_password_in_a_context_is_a_user(settings: Settings, write: Write) -> None:
    write("c", {"user": "bob"}, selected=True)
    assert (settings().login.kind, settings().login.password) == (LoginKind.USER, "")


@pytest.mark.parametrize(
    "options",
    [
        {"user": "bob", "password": SECRET, "token": SECRET},
        {"creds": "x", "nkey": "y"},
        {"server": f"nats://bob:{SECRET}@h", "token": SECRET},
    ],
)
def test_contradicting_logins_on_the_command_line(problem: Problem, options: dict[str, str]) -> None:
    assert problem(**options).hint == "give one of them"


@pytest.mark.parametrize(
    ("options", "prefix"),
    [({"js_domain": "leaf"}, "$JS.leaf.API"), ({"js_api_prefix": "from.acc."}, "from.acc"), ({}, "$JS.hub.API")],
)
def test_api_prefix(settings: Settings, write: Write, options: dict[str, str], prefix: str) -> None:
    write("c", {"jetstream_domain": "hub"}, selected=True)
    assert settings(**options).js_api_prefix == prefix


@pytest.mark.parametrize(
    "options",
    [
        {"js_domain": "a", "js_api_prefix": "b"},
        {"js_domain": "a.b"},
        {"js_domain": "a b"},
        {"js_api_prefix": "a.>"},
        {"inbox_prefix": "a..b"},
    ],
)
def test_prefixes_that_cannot_be(problem: Problem, options: dict[str, str]) -> None:
    assert next(iter(options)).replace("_", "-") in problem(**options).message


def test_a_context_with_domain_and_prefix(problem: Problem, write: Write) -> None:
    path = write("c", {"jetstream_domain": "hub", "jetstream_api_prefix": "x"}, selected=True)
    assert str(path) in problem().message


@pytest.mark.parametrize("options", [{"timeout": 0.0}, {"timeout": -1.0}, {"environ": {"NATS_TIMEOUT": "30"}}])
def test_timeouts_that_cannot_be(problem: Problem, options: Any) -> None:
    assert "timeout" in problem(**options).message.lower()


# --- URLs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("localhost", ("nats://localhost:4222",)),
        ("a:1/, nats://b ,tls://c:3/", ("nats://a:1", "nats://b:4222", "tls://c:3")),
        ("[::1]:5", ("nats://[::1]:5",)),
        ("wss://h/nats,ws://h", ("wss://h:443/nats", "ws://h:80")),
        ("a:1,a:1,", ("nats://a:1",)),
        (f"bob:{SECRET}@h:1,nats://{SECRET}@i:2,j:3", ("nats://h:1", "nats://i:2", "nats://j:3")),
    ],
)
def test_server_urls(settings: Settings, text: str, servers: tuple[str, ...]) -> None:
    assert settings(server=text).servers == servers


def test_userinfo_of_each_url(settings: Settings) -> None:
    logins = settings(server=f"bob:p%40ss@h:1,nats://{SECRET}@i:2,j:3").server_logins
    assert [(login.kind, login.user, login.password or login.token) for login in logins] == [
        (LoginKind.USER, "bob", "p@ss"),
        (LoginKind.TOKEN, None, SECRET),
        (LoginKind.NONE, None, None),
    ]


@pytest.mark.parametrize("text", ["tls://h", "wss://h", "nats://a,tls://b"])
def test_secure_schemes_demand_tls(settings: Settings, text: str) -> None:
    assert settings(server=text).tls_required


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("nat://h:1", "did you mean 'nats'?"),
        ("http://h:8222", "HTTP address"),
        ("h:99999", "not a number from 1 to 65535"),
        ("h:abc", "not a number from 1 to 65535"),
        ("h:0", "not a number from 1 to 65535"),
        ("nats://", "names no host"),
        ("none:4222", "names no host"),
        ("::1:4222", "brackets"),
        ("[::1", "cannot be read"),
        ("nats://h:1/path", "nothing may follow the port"),
        ("nats://h h:1", "space"),
        (",", "no server URL"),
        (f"nats://bob:{SECRET}@h:x", "'nats://bob:***@h:x'"),
        (f"nats://bob:a,{SECRET}@h:1", "'nats://bob:***'"),
        (f"nats://bob:{SECRET}/@h:1", "server URL"),
        (f"nope://{SECRET}@h", "'nope://***@h'"),
    ],
)
def test_bad_urls(problem: Problem, write: Write, text: str, what: str) -> None:
    assert what in problem(server=text).message
    path = write("c", {"url": text})
    assert str(path) in problem(context="c").message


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("nats://bob:pw@h:1", "nats://bob:***@h:1"),
        ("nats://token@h:1", "nats://***@h:1"),
        ("bob:p@ss@h", "bob:***@h"),
        ("nats://h:1", "nats://h:1"),
        ("nats://[::1]:4", "nats://[::1]:4"),
    ],
)
def test_redaction(url: str, shown: str) -> None:
    assert redact(url) == shown


# --- secrets and files ------------------------------------------------------------------------------------------


def test_credentials_by_reference(settings: Settings, write: Write, tmp_path: Path) -> None:
    operator = Operator()
    jwt, seed = operator.user(operator.app)
    text = creds(jwt, seed)
    (tmp_path / "my creds").write_text(text)
    environ = {"HOME": str(tmp_path), "DIR": str(tmp_path), "MY_CREDS": text}
    encoded = base64.b64encode(text.encode()).decode()
    for reference in (
        *("~/my creds", "$DIR/my creds", "${DIR}/my creds", f"file://{tmp_path}/my creds", "file://~/my creds"),
        *("env://MY_CREDS", f"data:;base64,{encoded}", f"data:text/plain;base64,{encoded}"),
    ):
        write("c", {"creds": reference})
        login = settings(environ, context="c").login
        assert (login.kind, login.jwt, login.seed) == (LoginKind.CREDS, jwt, seed)
        assert settings(environ, creds=reference).login.seed == seed


def test_literals_by_reference(settings: Settings, write: Write, tmp_path: Path) -> None:
    (tmp_path / "pw").write_text(f"{SECRET}\n")
    write("c", {"user": "bob", "password": f"file://{tmp_path}/pw"})
    assert settings(context="c").login.password == SECRET
    assert settings({"TOKEN": SECRET}, token="env://TOKEN").login.token == SECRET
    assert settings(token="no:reference").login.token == "no:reference"


@pytest.mark.parametrize("decorated", [True, False])
def test_nkey_files(settings: Settings, tmp_path: Path, decorated: bool) -> None:
    seed = Key(nkeys.PREFIX_BYTE_USER).seed
    block = f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    (tmp_path / "user.nk").write_text(block if decorated else f"# mine\n{seed}\n")
    login = settings(nkey=str(tmp_path / "user.nk")).login
    assert (login.kind, login.seed) == (LoginKind.NKEY, seed)
    assert seed not in repr(login)


def test_tools_that_keep_secrets(settings: Settings, problem: Problem, write: Write, tmp_path: Path) -> None:
    """The stand-ins answer as `op read` and `nsc generate profile` do; that they are asked so is what is tested."""
    operator = Operator()
    text = creds(*operator.user(operator.app))
    (tmp_path / "user.creds").write_text(text)
    profile = json.dumps(
        {"user_creds": str(tmp_path / "user.creds"), "operator": {"service": ["nats://a:1", "nats://b:2"]}}
    )
    tools = tmp_path / "bin"
    tools.mkdir()
    _script(
        tools / "op",
        f"""[ "$*" = "read op://v/i/f" ] && cat '{tmp_path}/user.creds' || {{ echo "no such item" >&2; exit 1; }}""",
    )
    _script(tools / "nsc", f"""[ "$*" = "generate profile nsc://O/A/U" ] && echo '{profile}'""")
    environ = {"PATH": f"{tools}:{os.defpath}"}
    for reference in ("op://v/i/f", "nsc://O/A/U"):
        assert settings(environ, creds=reference).login.kind is LoginKind.CREDS
    write("old", {"nsc": "O/A/U"})
    resolved = settings(environ, context="old")
    assert resolved.servers == ("nats://a:1", "nats://b:2")
    assert resolved.login.kind is LoginKind.CREDS
    assert settings({"PATH": ""}, context="old", server="h", token="t").servers == ("nats://h:4222",)
    assert "no such item" in problem(environ, creds="op://v/i/other").message
    assert "'op', which is not on PATH" in problem({"PATH": str(tmp_path)}, creds="op://v/i/f").message
    assert "'nsc', which is not on PATH" in problem({"PATH": str(tmp_path)}, context="old").message


def _script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        ("/no/such/file.creds", "cannot read '/no/such/file.creds': no such file or directory"),
        ("$NOT_SET/x.creds", "$NOT_SET, which is not set"),
        ("env://NOT_SET", "the variable NOT_SET is not set"),
        ("env://EMPTY", "the variable EMPTY is empty"),
        ("env://", "no variable is named"),
        (f"data:,{SECRET}", "data:;base64,..."),
        (f"data:;base64,{SECRET}!", "not valid base64"),
        ("vault://x", "unknown scheme 'vault'"),
        ("fiel://x", "did you mean 'file'?"),
        ("/", "is a directory"),
        ("a\0b", "not a usable path"),
    ],
)
def test_references_that_lead_nowhere(problem: Problem, write: Write, reference: str, what: str) -> None:
    environ = {"EMPTY": ""}
    message = problem(environ, creds=reference).message
    assert message.startswith("--creds: ")
    assert what in message
    path = write("c", {"creds": reference})
    assert str(path) in problem(environ, context="c").message
    assert what in problem({**environ, "NATS_NKEY": reference}).message


JWT, SEED = Operator().user(Key(nkeys.PREFIX_BYTE_ACCOUNT))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no user JWT"),
        ("hello", "no user JWT"),
        (creds(JWT, ""), "no seed"),
        (creds("", SEED), "no user JWT"),
        (creds("a.b.c", SEED), "JWT is damaged"),
        (creds(JWT, SEED[:-8]), "seed is damaged"),
        (creds(JWT, SEED[:20] + ("B" if SEED[20] == "A" else "A") + SEED[21:]), "seed is damaged"),
        (creds(JWT, Key(nkeys.PREFIX_BYTE_ACCOUNT).seed), "not that of a user"),
    ],
)
def test_creds_files_that_cannot_be_used(problem: Problem, tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "user.creds"
    file.write_text(text)
    error = problem(creds=str(file))
    assert what in error.message
    assert str(file) in error.message
    assert SEED not in f"{error!r}"


def test_nkey_files_that_cannot_be_used(problem: Problem, tmp_path: Path) -> None:
    file = tmp_path / "user.nk"
    file.write_text(Key(nkeys.PREFIX_BYTE_USER).public)
    assert "no nkey seed" in problem(nkey=str(file)).message
    file.write_bytes(b"\xff\xfe")
    assert "not text" in problem(nkey=str(file)).message


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"tlskey": "here"}, "a client key without its certificate"),
        ({"tlscert": "here"}, "a client certificate without its key"),
        ({"tlsca": "/no/ca.pem"}, "cannot read '/no/ca.pem'"),
        ({"tlsca": "op://v/i/f"}, "must be given as a path"),
    ],
)
def test_tls_files_that_cannot_be_used(problem: Problem, tmp_path: Path, options: dict[str, str], what: str) -> None:
    (tmp_path / "file.pem").write_text("x")
    given = {name: value.replace("here", str(tmp_path / "file.pem")) for name, value in options.items()}
    assert what in problem(**given).message


def test_what_jsdoctor_cannot_do_is_reported(settings: Settings, problem: Problem, write: Write) -> None:
    path = write("proxied", {"socks_proxy": "socks5://p:1080"})
    assert str(path) in problem(context="proxied").message
    assert "SOCKS" in problem({"NATS_SOCKS_PROXY": "p:1"}).message
    assert settings({"NATS_SOCKS_PROXY": "none"}, context="proxied").servers
    write("windows", {"windows_cert_store": "user"})
    assert "Windows" in problem(context="windows").message


# --- beside the real command ------------------------------------------------------------------------------------


@pytest.mark.real
def test_contexts_that_nats_wrote(settings: Settings, home: Path, nats_cli: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(home), "HOME": str(home), "PATH": os.defpath}

    def nats(*arguments: str) -> None:
        subprocess.run([nats_cli, *arguments], env=environ, check=True, capture_output=True, stdin=subprocess.DEVNULL)

    nats("context", "add", "one", "--server", "nats://a:1,nats://b:2", "--user", "bob", "--password", SECRET)
    nats(
        "context", "add", "two", "--server", "tls://c:3", "--js-domain", "hub", "--inbox-prefix", "_MINE", "--tlsfirst"
    )
    nats("context", "select", "two")
    assert known_contexts(home) == ["one", "two"]
    two = settings(environ)
    assert (two.context_name, two.servers, two.js_api_prefix) == ("two", ("tls://c:3",), "$JS.hub.API")
    assert (two.inbox_prefix, two.tls_first, two.tls_required) == ("_MINE", True, True)
    first = settings(environ, context="one")
    assert first.servers == ("nats://a:1", "nats://b:2")
    assert (first.login.user, first.login.password) == ("bob", SECRET)

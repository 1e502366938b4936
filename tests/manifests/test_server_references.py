"""What fields of a configuration say of each other: judged as servers judge it when they start."""

import subprocess
from pathlib import Path

import pytest

from jsdoctor.manifests.conf_tree import configuration
from jsdoctor.manifests.server_references import reference_mistakes
from tests.servers import DEFAULT_VERSION, VERSIONS, server_binary

STARTS_S = 1.5
EXPORTS = "accounts { B { exports = [ %s ] }, C {}, A { imports = [ {%s: {account: B, subject: %s}} ] } }"
REMOTE = 'leafnodes { remotes = [ {url: "nats://127.0.0.1:1", account: %s} ] }\naccounts { A {} }'
GATEWAY = "gateway { name: g, port: -1, gateways = [ {%s} ] }"
REFUSED = (
    "authorization { user: a, password: b, users = [ {user: c} ] }",
    "authorization { token: a, users = [ {user: c} ] }",
    "authorization { token: a, user: b }",
    "authorization { user: b }\naccounts { A { users = [ {user: c} ] } }",
    "authorization { token: b }\naccounts { A { users = [ {user: c} ] } }",
    "authorization { users = [ {user: c}, {user: c} ] }",
    "authorization { users = [ {user: c} ] }\naccounts { A { users = [ {user: c} ] } }",
    "accounts { A { users = [ {user: c} ] }, B { users = [ {user: c} ] } }",
    "no_auth_user: x",
    "no_auth_user: x\naccounts { A { users = [ {user: c} ] } }",
    "websocket { port: -1, no_tls: true, no_auth_user: x }",
    "system_account: X\naccounts { A { users = [ {user: c} ] } }",
    "system_account: X",
    'accounts { "$G" { } }',
    "accounts { A { imports = [ {stream: {account: B, subject: a}} ] } }",
    "accounts { B { exports = [ {stream: a, accounts: [C]} ] } }",
    EXPORTS % ('{stream: "a.*"}', "stream", '"a.>"'),
    EXPORTS % ('{stream: "a.*"}', "service", '"a.b"'),
    EXPORTS % ('{service: "a.*"}', "service", '"a.b.c"'),
    EXPORTS % ('{service: "a.b", accounts: [C]}', "service", '"a.b"'),
    EXPORTS % ('{stream: "a.b", accounts: [C]}', "stream", '"a.b"'),
    REMOTE % "X",
    "leafnodes { port: -1, authorization { user: a, account: X } }\naccounts { A {} }",
    "gateway { port: -1 }",
    GATEWAY % 'urls: ["nats://127.0.0.1:1"]',
    GATEWAY % "name: h",
    "gateway { name: g, port: -1 }\ncluster { name: h, port: -1 }",
    "max_pending: 1K\nmax_payload: 1MB",
    'lame_duck_duration: "10s"',
    'lame_duck_duration: "30s"\nlame_duck_grace_period: "40s"',
    "accounts { S { jetstream: enabled, users = [ {user: c} ] } }\nsystem_account: S\njetstream { store_dir: js }",
)
TAKEN = (
    "authorization { users = [ {user: c}, {user: d} ] }",
    "no_auth_user: c\naccounts { A { users = [ {user: c} ] } }",
    "system_account: A\naccounts { A { users = [ {user: c} ] } }",
    "accounts: [A, B]\nsystem_account: B",
    EXPORTS % ('{stream: "a.*"}', "stream", '"a.b"'),
    EXPORTS % ('{stream: "a.*", accounts: [A]}', "stream", '"a.*"'),
    EXPORTS % ('{service: "a.>"}', "service", '"a.b.c"'),
    REMOTE % "A",
    REMOTE % '"$SYS"',
    GATEWAY % 'name: h, url: "nats://127.0.0.1:1"',
    "gateway { name: g, port: -1 }\ncluster { name: g, port: -1 }",
    "max_pending: 2MB\nmax_payload: 1MB",
    'lame_duck_duration: "30s"\nlame_duck_grace_period: "10s"',
)


def starts(version: str, text: str, directory: Path) -> str:
    """What a server that does not start says; empty when it runs."""
    path = directory / "n.conf"
    path.write_text(f"port: -1\n{text}\n")
    words = [str(server_binary(version)), "-c", str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=directory) as server:
        try:
            return server.communicate(timeout=STARTS_S)[0]
        except subprocess.TimeoutExpired:
            server.kill()
            return ""


def mistakes(text: str) -> list[str]:
    read = configuration("n.conf", text, lambda _file, _name: None)
    return [mistake.says for mistake in reference_mistakes(read.tree)]


@pytest.mark.parametrize("text", REFUSED)
def test_what_no_server_starts_with_is_a_mistake(text: str) -> None:
    assert len(mistakes(text)) == 1


@pytest.mark.parametrize("text", TAKEN)
def test_what_servers_start_with_is_none(text: str) -> None:
    assert mistakes(text) == []


@pytest.mark.parametrize("version", [*(pytest.param(version, marks=pytest.mark.nightly) for version in VERSIONS)])
def test_servers_agree(tmp_path: Path, version: str) -> None:
    assert [text for text in REFUSED if not starts(version, text, tmp_path)] == []
    assert [text for text in TAKEN if starts(version, text, tmp_path)] == []


def test_the_newest_server_agrees_with_some(tmp_path: Path) -> None:
    assert [text for text in REFUSED[::8] if not starts(DEFAULT_VERSION, text, tmp_path)] == []
    assert starts(DEFAULT_VERSION, TAKEN[1], tmp_path) == ""


HASHED = (
    'accounts { B { exports = [ {service: "a.{{account-hash()}}"} ] }, '
    'A { imports = [ {service: {account: B, subject: "a.{{account-hash-import()}}"}} ] } }'
)


@pytest.mark.parametrize(
    "text",
    [
        "no_auth_user: $NOBODY",
        "accounts: $ACCOUNTS\nsystem_account: X",
        "accounts { A { imports = [ {stream: {account: $OTHER, subject: a}} ] } }",
        HASHED,
        "operator: /etc/operator.jwt\nsystem_account: ADXYZ",
    ],
)
def test_what_the_file_does_not_show_is_not_judged(text: str) -> None:
    assert mistakes(text) == []

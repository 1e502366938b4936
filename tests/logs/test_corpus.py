"""Every message that nats-server can log is wanted by a signature, per version, or left out for a stated reason.

`fixtures/log_templates.json` has the format strings of what nats-server logs at INF and above, with the versions that
have them. `corpus.toml` says which of them no rule wants, and why.
"""

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.logs.lines.builtin import BUILTIN
from jsdoctor.logs.lines.line import read_line
from jsdoctor.logs.lines.matcher import Pattern, wants
from jsdoctor.logs.lines.stamp import LogYear
from jsdoctor.model.rule import LineOrigin, Signature
from tests.support.ruleset import rules

HERE = Path(__file__).resolve().parent
VERSIONS = ("2.10.26", "2.11.11", "2.12.8", "2.14.6", "2.15.1", "2.15.3")
LEVELS = ("INF", "WRN", "ERR", "FTL")
PREFIXES = {
    "raft.go": "RAFT [yrzKKRBu - S-R3F-W2ckKlqY] ",
    "filestore.go": "Filestore [ORDERS] ",
    "client.go": '127.0.0.1:52828 - cid:8 - "v1.40:go" - "APP/user:app" - ',
    "route.go": "127.0.0.1:52828 - rid:8 - ",
    "leafnode.go": "127.0.0.1:52828 - lid:8 - ",
    "gateway.go": "127.0.0.1:52828 - gid:8 - ",
}
Json = dict[str, Any]


@cache
def corpus() -> Json:
    return tomllib.loads((HERE / "corpus.toml").read_text())


@cache
def templates() -> tuple[Json, ...]:
    """Format strings of the server's source, and lines that it puts together while it runs."""
    recorded: list[Json] = json.loads((HERE.parents[1] / "fixtures" / "log_templates.json").read_text())
    put_together = [{"file": "", "func": "", "versions": list(VERSIONS), **line} for line in corpus()["line"]]
    return (*recorded, *put_together)


@cache
def left_out() -> dict[str, str]:
    """Templates that no rule wants: the reason."""
    known = tomllib.loads((HERE.parents[1] / "rules" / "known_lines.toml").read_text())["known"]
    reasons = {template: group["reason"] for group in known for template in group["templates"]}
    for group in corpus()["ignored"]:
        for template in group.get("templates", ()):
            assert template not in reasons, f"listed twice: {template}"
            reasons[template] = group["reason"]
        for template in templates():
            if template["file"] in group.get("files", ()) and template["level"] in group.get("levels", LEVELS):
                reasons.setdefault(template["template"], group["reason"])
    return reasons


@cache
def signatures() -> tuple[tuple[Signature, Pattern], ...]:
    own = [signature for rule in rules() for signature in rule.signatures]
    return tuple((signature, Pattern(signature.pattern, short=1 << 30)) for signature in (*own, *BUILTIN))


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def covers(signature: Signature, version: str) -> bool:
    """Whether this is the wording of that version."""
    since = not signature.since or number(signature.since) <= number(version)
    return since and (not signature.before or number(version) < number(signature.before))


def line_of(template: Json) -> str:
    """A line as a server would log it, with plausible values."""
    return line_with_values(template["template"], template["level"], PREFIXES.get(template["file"], ""))


@cache
def line_with_values(text: str, level: str, prefix: str) -> str:
    values = iter(corpus()["values"].get(text, ()))
    text = text.replace("'%s > %s > %s'", "'APP > ORDERS > billing'").replace("'%s > %s'", "'APP > ORDERS'")
    text = text.replace("'%s' > '%s'", "'APP' > 'ORDERS'")

    def value(verb: re.Match[str]) -> str:
        given = next(values, None)
        if given is not None:
            return f'"{given}"' if verb[0] == "%q" else str(given)
        before = text[: verb.start()].rstrip("(").rstrip()
        match verb[0]:
            case "%q":
                return '"ORDERS"'
            case "%d":
                return "42"
            case "%s":
                return "ORDERS"
            case "%+v":
                return "[n4]"
            case "%v" if before.endswith(("took", " in", "total of", "of", "time:", "after")):
                return "1.5s"
            case "%v":
                return "no space left on device"
            case "%%":
                return "%"
            case _:
                return "1.234"

    text = re.sub(r"%[-+#0]*\d*(?:\.\d+)?[a-zA-Z%]", value, text)
    return f"[7] 2026/11/21 10:00:00.000000 [{level}] {prefix}{text}"


@cache
def meant(line: str) -> tuple[Signature, ...]:
    """The signatures, of any version, that want this line."""
    read = read_line(line.encode(), LogYear(2026))
    return tuple(
        signature
        for signature, pattern in signatures()
        if signature.contains.encode() in read.text
        and wants(signature, read.server, read.level)
        and pattern.groups(read.text) is not None
        and signature.name != "@fatal"
    )


def matching(template: Json, version: str) -> list[str]:
    """Names of the signatures that want what this version makes of a template."""
    return [signature.name for signature in meant(line_of(template)) if covers(signature, version)]


@cache
def versions_with(name: str) -> frozenset[str]:
    """The versions that log something which the signature of that name wants."""
    return frozenset(
        version for template in templates() for version in template["versions"] if name in matching(template, version)
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_every_message_is_wanted_or_left_out(version: str) -> None:
    missing = [
        f"{template['level']} {template['file']}:{template['func']}: {template['template']}"
        for template in templates()
        if version in template["versions"]
        and template["template"] not in left_out()
        and not matching(template, version)
    ]
    assert missing == []


def test_what_is_left_out_is_not_wanted() -> None:
    listed = {template for group in corpus()["ignored"] for template in group.get("templates", ())}
    known = {template["template"] for template in templates()}
    assert listed - known == set(), "no version logs these"
    wanted = {
        template["template"]: names
        for template in templates()
        if template["template"] in listed and (names := matching(template, template["versions"][-1]))
    }
    assert wanted == {}


def test_nothing_is_left_to_do() -> None:
    assert [group["reason"] for group in corpus()["ignored"] if group["reason"].startswith("TODO")] == []


def own_signatures() -> list[Signature]:
    return [signature for rule in rules() for signature in rule.signatures]


def test_signatures_are_of_messages_that_servers_log() -> None:
    """A signature of servers matches something that each version it is meant for can log, and nothing of others."""
    of_servers = [signature for signature in own_signatures() if signature.source is LineOrigin.SERVER]
    expected = {each.name: {version for version in VERSIONS if covers(each, version)} for each in of_servers}
    assert {name: versions_with(name) for name in expected} == expected

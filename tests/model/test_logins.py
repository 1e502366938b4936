"""Printed commands lead to the login that can run them, and no other word of a text changes."""

import pytest

from jsdoctor.model.commands import changes_something
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.logins import CommandLogin, Logins

SYS = CommandLogin(("--context sys",), is_system=True)
APP = CommandLogin(("--context app",), frozenset({"APP", "ADIDOFAPP"}))
SHOP = CommandLogin(("-s nats://h:4222", '--password "$NATS_PASSWORD"'), frozenset({"SHOP"}))
UNNAMED = CommandLogin(("--context old",))
EVERY = Logins((SYS, APP, SHOP))

STREAM = Subject(kind="stream", name="S", account="APP")
CONSUMER = Subject(kind="consumer", name="C", stream="S", account="SHOP")


@pytest.mark.parametrize(
    ("text", "subject", "led"),
    [
        ("nats server list", STREAM, "nats --context sys server list"),
        ("nats stream info S", STREAM, "nats --context app stream info S"),
        ("nats consumer info S C", CONSUMER, 'nats -s nats://h:4222 --password "$NATS_PASSWORD" consumer info S C'),
        ("nats stream report", CLUSTER, "nats --context app stream report"),
        ("nats account info", Subject(kind="account", name="SHOP"), None),
        ("nats kv edit B", Subject(kind="stream", name="KV_B", account="ADIDOFAPP"), "nats --context app kv edit B"),
        ("run: nats stream ls; nats server list", STREAM, None),
        ("nats-server 2.12 is a nats server", STREAM, "nats-server 2.12 is a nats server"),
        ("chronyc tracking", STREAM, "chronyc tracking"),
        ("jsdoctor explain JSD101", STREAM, "jsdoctor explain JSD101"),
        (
            "jsdoctor rollback FILE",
            STREAM,
            'jsdoctor rollback --context sys --context app -s nats://h:4222 --password "$NATS_PASSWORD" FILE',
        ),
    ],
)
def test_each_command_leads_to_its_login(text: str, subject: Subject, led: str | None) -> None:
    flagged = EVERY.flagged(text, subject)
    if led is None:
        assert flagged.count("--context") + flagged.count("-s ") == text.count("nats "), flagged
    else:
        assert flagged == led
    assert EVERY.flagged(flagged, subject) == flagged or "jsdoctor" in text
    assert EVERY.needed(text, subject) == ""


@pytest.mark.parametrize(
    ("logins", "command", "subject", "needed"),
    [
        ((SYS,), "nats stream info S", STREAM, "a login of account APP"),
        ((SYS,), "nats stream report", CLUSTER, "a login of the account"),
        ((APP,), "nats consumer info S C", CONSUMER, "a login of account SHOP"),
        ((APP,), "nats server list", STREAM, "a login of the system account"),
        ((), "nats server list", STREAM, "a login of the system account"),
        ((UNNAMED,), "nats stream info S", STREAM, ""),
        ((), "timedatectl", STREAM, ""),
    ],
)
def test_a_login_that_is_missing_is_named(
    logins: tuple[CommandLogin, ...], command: str, subject: Subject, needed: str
) -> None:
    run = Logins(logins)
    assert run.needed(command, subject) == needed
    if needed:
        assert run.flagged(command, subject) == command


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("nats --context stream stream edit S -f", True),
        ("nats --context edit stream info S", False),
        ("nats --no-context -s nats://h --tlsfirst server cluster peer-remove n3", True),
        ('nats --user app --password "$NATS_PASSWORD" consumer edit S C -f', True),
        ('nats --user app --password "$NATS_PASSWORD" consumer info S C', False),
        ("jsdoctor rollback --context app j.jsonl", True),
    ],
)
def test_flags_of_logins_do_not_hide_what_a_command_does(command: str, changes: bool) -> None:
    assert changes_something(command) is changes


def test_a_login_of_the_account_comes_before_one_whose_account_is_not_known() -> None:
    assert Logins((UNNAMED, SHOP)).of_account("SHOP") == 1
    assert Logins((UNNAMED, SHOP)).of_account("APP") == 0
    assert Logins((SYS, SHOP)).of_account("APP") is None
    assert Logins((SYS, SHOP)).of_account("") == 1

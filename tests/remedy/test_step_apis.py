"""Each step goes through the login of the account that owns its subject."""

from typing import Any, cast

import pytest

from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.logins import CommandLogin, Logins
from jsdoctor.model.plan import Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.api import Api, StepApis

SYS = CommandLogin(accounts=frozenset({"SYS"}), is_system=True)
ONLY_SYS = CommandLogin(accounts=frozenset({"SYS"}))
APP, SHOP = (CommandLogin(accounts=frozenset({name})) for name in ("APP", "SHOP"))
UNKNOWN = CommandLogin()
STREAM = Subject(kind="stream", name="S", account="SHOP")
CONSUMER = Subject(kind="consumer", name="C", stream="S", account="APP")
SERVER = Subject(kind="server", name="n1")


@pytest.mark.parametrize(
    ("logins", "subject", "place", "lacks"),
    [
        ((SYS, APP, SHOP), STREAM, 2, False),
        ((SYS, APP, SHOP), CONSUMER, 1, False),
        ((APP, SYS), SERVER, 1, False),
        ((APP, SYS), CLUSTER, 1, False),
        ((APP, SYS), STREAM, 0, True),
        ((ONLY_SYS,), STREAM, 0, True),
        ((ONLY_SYS,), CLUSTER, 0, False),
        ((UNKNOWN,), STREAM, 0, False),
        ((SYS, UNKNOWN), STREAM, 1, False),
    ],
)
def test_login_of_a_step(logins: tuple[CommandLogin, ...], subject: Subject, place: int, lacks: bool) -> None:
    connections = tuple(cast(Api, f"connection {number}") for number in range(len(logins)))
    apis = StepApis(Logins(logins), connections)
    fields: dict[str, Any] = {"action": "a", "operation": "o", "risk": Risk.SAFE, "effect": "e"}
    step = Step(subject=subject, **fields)
    assert apis.of(step) is connections[place]
    assert apis.lacks(step) is lacks

"""Excerpts of public issues: the declared cause is named among the first three, and benign ones stay silent."""

from pathlib import Path

import pytest

from jsdoctor.cli.app import run
from tests.public.excerpts import Excerpt, Run, excerpts, loud, named

ALL = list(excerpts())
KNOWN_MISSES = {
    "https://github.com/nats-io/jetstream/issues/437": (
        "The function names stand behind the name of a pod, where only lines of servers are recognised."
    ),
    "https://github.com/nats-io/nats-server/issues/5210": (
        "A program that embeds the server and logs through its own library."
    ),
    "https://github.com/nats-io/nats-server/issues/2170#varz": (
        "The section does not show what streams reserve, without which the rule about storage is not evaluated."
    ),
    "https://github.com/nats-io/nats-server/issues/2488": "One sample of a consumer shows no progress over time.",
    "https://github.com/nats-io/nats-server/issues/2872#report": (
        "One sample of a consumer shows no progress over time: its pending messages are information."
    ),
    "https://github.com/nats-io/nats.go/issues/1622": "Ten pending messages in one sample of a consumer.",
    "https://github.com/nats-io/nats.net/issues/797": "An API request's timeout leads to the page on publishes.",
    "https://github.com/nats-io/k8s/issues/438": "Eight seconds without a meta leader, in two lines, are information.",
    "https://github.com/nats-io/nats-server/issues/4924": "Slow internal requests are named as a slow disk (JSD814).",
    "https://github.com/nats-nui/nui/issues/47": "One refused login is no finding; the page login-refused is named.",
    "https://github.com/nats-io/nats-server/issues/4192": "Named as a stream with a write error (JSD713).",
    "https://github.com/nats-io/nats-server/issues/4192#corrupt": "Named as a stream with a write error (JSD713).",
    "https://github.com/nats-io/nats-server/issues/2642": "A sentence around a log message: three pages are named.",
    "https://github.com/nats-io/nats-server/issues/7335": "Named as a stream that lost its messages (JSD208).",
    "https://github.com/nats-io/nats-server/issues/3116#report": "JSD807 needs two samples of API calls.",
    "https://github.com/nats-io/terraform-provider-jetstream/issues/46": "The error is retyped with a letter missing.",
    "https://github.com/nats-io/nats-server/issues/3848": "Replicas that hold more: leaders are named.",
    "https://github.com/nats-io/nats-server/issues/8483": "That limits do not add up is in no list of complaints.",
    "https://github.com/ThreeDotsLabs/watermill/issues/531": "Messages that go back: the restart of a server is named.",
}
"""Excerpts whose cause is not named, and why."""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `jsdoctor` in this process, without this machine's contexts and variables."""
    for name in ("NATS_URL", "NATS_CONTEXT", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def output(*arguments: str) -> str:
        run(arguments)
        return capsys.readouterr().out

    return output


FAULTY = [excerpt for excerpt in ALL if excerpt.any_of and excerpt.link not in KNOWN_MISSES]


@pytest.mark.nightly
@pytest.mark.parametrize("excerpt", FAULTY, ids=lambda excerpt: excerpt.link.partition(".com/")[2])
def test_the_cause_is_named(excerpt: Excerpt, tmp_path: Path, command: Run) -> None:
    names = named(excerpt, tmp_path, command)
    assert set(excerpt.any_of) & set(names), names


@pytest.mark.nightly
def test_known_misses_are_missed(tmp_path: Path, command: Run) -> None:
    """One that is named by now has to leave the list."""
    missed = [listed for listed in ALL if listed.link in KNOWN_MISSES]
    assert len(missed) == len(KNOWN_MISSES)
    for number, excerpt in enumerate(missed):
        (tmp_path / str(number)).mkdir()
        assert not set(excerpt.any_of) & set(named(excerpt, tmp_path / str(number), command)), excerpt.link


@pytest.mark.parametrize(
    "excerpt", [excerpt for excerpt in ALL if not excerpt.any_of], ids=lambda excerpt: excerpt.link[8:]
)
def test_a_benign_excerpt_is_silent(excerpt: Excerpt, tmp_path: Path, command: Run) -> None:
    assert loud(excerpt, tmp_path, command) == []


def test_every_excerpt_has_its_own_link() -> None:
    links = [excerpt.link for excerpt in ALL]
    assert len(links) == len(set(links)) >= 617

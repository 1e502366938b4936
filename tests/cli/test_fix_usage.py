"""What `fix` and `rollback` refuse before they connect to anything: one sentence, what to do, exit code 2."""

from pathlib import Path

import pytest

from jsdoctor.app.fix.request import parse_remedy
from jsdoctor.model.plan import Choice
from tests.cli.invoke import jsdoctor

NOBODY = ("--isolated", "-s", "nats://127.0.0.1:1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fix", "--resume"), "--resume goes on with a journal, and none is named"),
        (("fix", "--yes"), "belong to --apply"),
        (("fix", "--plan", "p.json", "--remedy", "JSD301=stream.bound"), "--remedy makes a plan, --plan brings one"),
        (("fix", "--remedy", "JSD301"), "write CODE=ACTION,KEY=VALUE"),
        (("fix", "--remedy", "JSD301=stream.bond"), "did you mean"),
        (("fix", "--plan", "garbage.json"), "garbage.json is no plan"),
        (("fix", "--resume", "--journal", "none.jsonl", "--yes"), "cannot open the journal none.jsonl"),
        (("rollback", "garbage.json", "--yes"), "garbage.json:1: not a line of a journal"),
    ],
)
def test_refused(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "garbage.json").write_text('{"schema": 1}\n', "utf-8")
    done = jsdoctor(*arguments, *NOBODY, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("JSD303=stream.set_max_age,max-age=10m", Choice("JSD303", "stream.set_max_age", {"max_age_s": 600})),
        ("jsd414@S/c=consumer.resume", Choice("JSD414", "consumer.resume", {}, "S/c")),
        ("X=stream.bound,max_bytes=5,max_msgs=-1", Choice("X", "stream.bound", {"max_bytes": 5, "max_msgs": -1})),
        ("X=stream.set_discard,discard=old", Choice("X", "stream.set_discard", {"discard": "old"})),
    ],
)
def test_a_remedy_as_a_person_writes_it(text: str, choice: Choice) -> None:
    assert parse_remedy(text) == choice


@pytest.mark.parametrize("text", ["", "=x", "JSD1=", "JSD1=a,b", "JSD1=a,b=", "JSD1=a,max_age=1500ms"])
def test_what_is_no_remedy(text: str) -> None:
    with pytest.raises(ValueError, match=r"for example|whole seconds"):
        parse_remedy(text)

"""The journal: what is read back after a crash, who may use it, and what is not one."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.model.finding import Subject
from jsdoctor.model.logins import Logins
from jsdoctor.model.plan import Plan, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.api import StepApis
from jsdoctor.remedy.apply import Applier
from jsdoctor.remedy.journal import Journal, JournalError, JournalEvent

STREAM = Subject(kind="stream", name="S", account="A")
STEP = Step(id="1", action="a", operation="o", subject=STREAM, risk=Risk.SAFE, effect="e")
OTHER = Step(id="2", action="a", operation="o", subject=STREAM, risk=Risk.SAFE, effect="e")
PLAN = Plan(version="1", created=datetime(2026, 1, 1, tzinfo=UTC), steps=(STEP, OTHER))


def written(path: Path, *events: tuple[JournalEvent, dict[str, Any]]) -> None:
    journal = Journal.create(path, PLAN, ("safe",))
    for event, more in events:
        journal.append(event, STEP, **more)
    journal.close()


def reopened(path: Path) -> Journal:
    journal = Journal.reopen(path)
    journal.close()
    return journal


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "j"
    note = {"kind": "half", "data": {"n": 1}}
    written(
        path,
        (JournalEvent.BEGIN, {"before": {"config": {"x": 1}}}),
        (JournalEvent.NOTE, note),
        (JournalEvent.WRITTEN, {}),
    )
    journal = reopened(path)
    past = journal.past(STEP)
    assert (journal.plan, journal.allowed) == (PLAN, ("safe",))
    assert (past.last, past.before) == (JournalEvent.WRITTEN, {"config": {"x": 1}})
    assert [(entry.kind, entry.data) for entry in past.notes] == [("half", {"n": 1})]
    assert journal.past(OTHER).last is None
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_state_before_is_that_of_the_first_write(tmp_path: Path) -> None:
    """A step that is begun again after a crash still goes back to where it was before the crash."""
    written(tmp_path / "j", (JournalEvent.BEGIN, {"before": {"n": 1}}), (JournalEvent.BEGIN, {"before": {"n": 2}}))
    assert reopened(tmp_path / "j").past(STEP).before == {"n": 1}


def test_every_cut_of_the_last_line_is_a_journal_without_it(tmp_path: Path) -> None:
    path = tmp_path / "j"
    written(path, (JournalEvent.BEGIN, {"before": {"n": 1}}), (JournalEvent.WRITTEN, {}))
    whole = path.read_bytes()
    begins = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(begins, len(whole)):
        path.write_bytes(whole[:end])
        journal = Journal.reopen(path)
        assert journal.past(STEP).last is JournalEvent.BEGIN
        journal.append(JournalEvent.WRITTEN, STEP)
        journal.close()
        assert reopened(path).past(STEP).last is JournalEvent.WRITTEN


def test_a_journal_is_not_overwritten(tmp_path: Path) -> None:
    written(tmp_path / "j")
    with pytest.raises(JournalError, match="there is a journal already"):
        Journal.create(tmp_path / "j", PLAN, ())


def test_one_process_at_a_time(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "j", PLAN, ())
    with pytest.raises(JournalError, match="another jsdoctor works with"):
        Journal.reopen(tmp_path / "j")
    journal.close()
    reopened(tmp_path / "j")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "holds no plan"),
        (b'{"event":"pl', "holds no plan"),
        (b"hello\n", "not a line of a journal"),
        (b'{"event":"begin","at":"2026-01-01T00:00:00Z"}\n', "is no journal"),
        (b"\xff\n", "not a line of a journal"),
    ],
)
def test_what_is_no_journal_is_reported(tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(JournalError, match=word):
        Journal.reopen(tmp_path / "j")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_is_reported_before_anything_is_written(tmp_path: Path) -> None:
    handle = os.open("/dev/full", os.O_WRONLY)
    journal = Journal(tmp_path / "j", handle)
    with pytest.raises(JournalError, match="No space left on device"):
        journal.append(JournalEvent.BEGIN, STEP, before={})
    journal.close()


def test_without_file_locks_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jsdoctor.remedy.journal.fcntl", None)
    with pytest.raises(JournalError, match="no POSIX file locks"):
        Journal.create(tmp_path / "j", PLAN, ("safe",))
    assert not (tmp_path / "j").exists()
    with pytest.raises(JournalError, match="no POSIX file locks"):
        Journal.reopen(tmp_path / "j")


def test_a_step_that_is_not_begun_stops_no_other(tmp_path: Path) -> None:
    """Each is refused for its own reason: nothing was written, so that nothing can have failed."""

    async def nothing(*_: object) -> Any:
        raise AssertionError("no step is allowed, so that nothing is examined")

    journal = Journal.create(tmp_path / "j", PLAN, ("safe",))
    outcomes = asyncio.run(Applier(journal, StepApis(Logins(()), ()), print, nothing).all(PLAN.steps, ()))
    journal.close()
    assert [outcome.text for outcome in outcomes] == ["it is safe: --allow safe"] * 2

    journal = Journal.create(tmp_path / "k", PLAN, ("safe",))
    outcomes = asyncio.run(Applier(journal, StepApis(Logins(()), ()), print, nothing).all(PLAN.steps, ("safe",)))
    journal.close()
    assert [outcome.text for outcome in outcomes] == ["this version knows no operation 'o'"] * 2

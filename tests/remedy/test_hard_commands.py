"""The commands of the hard actions are ones that the real `nats` command accepts."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.model.finding import Subject
from jsdoctor.remedy.registry import load_actions
from tests.real.test_commands import run

pytestmark = [pytest.mark.real, pytest.mark.nightly]

STREAM = Subject(kind="stream", name="ORDERS", account="APP")
CONSUMER = Subject(kind="consumer", name="worker", stream="ORDERS", account="APP")
CASES: list[tuple[str, Subject, dict[str, Any]]] = [
    ("stream.backup", STREAM, {}),
    ("stream.restore", STREAM, {"backup": "good"}),
    ("stream.delete_first_message", STREAM, {"first_seq": 4}),
    ("stream.unfreeze_sources", STREAM, {}),
    ("consumer.keep_dead_letters", CONSUMER, {"into": "DEAD", "seqs": "5+7-8"}),
    ("consumer.reset", CONSUMER, {"seq": 4}),
    ("consumer.recreate", CONSUMER, {}),
    ("server.remove_peer", Subject(kind="server", name="n3"), {}),
]
CLOSED = "nats://127.0.0.1:1"
COMMANDS = [command for name, subject, values in CASES for command in load_actions()[name].commands(subject, values)]


def test_syntax_is_accepted(nats_cli: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a closed port each gets as far as connecting, and no farther: flags and arguments were right."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "worker.json").write_text(json.dumps({"durable_name": "worker", "ack_policy": "explicit"}))
    (tmp_path / "good").mkdir()
    meta = {"config": {"name": "ORDERS", "storage": "file"}, "state": {}}
    (tmp_path / "good" / "backup.json").write_text(json.dumps(meta))
    (tmp_path / "good" / "stream.arc.s2").write_bytes(b"")
    with ThreadPoolExecutor(max_workers=len(COMMANDS)) as pool:  # each waits for most of its time
        for command, done in zip(COMMANDS, pool.map(lambda c: run(nats_cli, c, CLOSED), COMMANDS), strict=True):
            output = (done.stdout + done.stderr).lower()
            for mistake in ("unknown long flag", "unknown short flag", "unexpected", "required", "does not exist"):
                assert mistake not in output, (command, output)
            assert "connection refused" in output or "no servers available" in output, (command, output)

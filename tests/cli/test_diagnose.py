"""`jsdoctor diagnose` and `explain` as they are typed: what they say, write and return, without any server."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from jsdoctor.cli.app import run
from tests.diagnosis.book import book
from tests.servers.binaries import ROOT
from tests.support.evidence import FIXTURES

SCHEMA: dict[str, Any] = json.loads((ROOT / "docs" / "schema" / "diagnosis-v1.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@dataclass(frozen=True)
class Done:
    """A command that was run in this process: starting forty of them would take a minute."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `jsdoctor` in an empty directory, without this machine's contexts and variables."""
    monkeypatch.chdir(tmp_path)
    for name in ("NATS_URL", "NATS_CONTEXT", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def command(*arguments: str) -> Done:
        code = run(arguments)
        return Done(code, *capsys.readouterr())

    return command


def document(command: Command, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = command("diagnose", "--format", "json", *arguments)
    diagnosis: dict[str, Any] = json.loads(done.stdout)
    VALIDATOR.validate(diagnosis)
    return done.returncode, diagnosis


def test_what_is_not_known_is_reported_with_what_would_help(command: Command) -> None:
    code, diagnosis = document(command, "--offline", "the printer is out of paper")
    assert (code, diagnosis["symptom"], diagnosis["causes"]) == (3, None, [])
    assert diagnosis["needs"]
    done = command("diagnose", "--offline", "the printer is out of paper")
    assert "Not recognised." in done.stdout
    assert not any(f"--symptom {symptom.slug}" in done.stdout for symptom in book().symptoms)


def test_the_nearest_symptoms_are_offered_where_none_is_recognised(command: Command) -> None:
    done = command("diagnose", "--offline", "deliveries repeat although handlers confirm in time")
    assert done.returncode == 3
    assert "--symptom messages-redelivered" in done.stdout
    assert done.stdout.count("--symptom") <= 5


def test_a_file_is_the_symptom(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text(
        "".join(f"2026-11-21T10:00:{n:02} ERROR create failed: err_code=10008 retry {n}\n" for n in range(9))
    )
    for arguments in (("app.log",), ("--logs", "app.log")):
        assert document(command, *arguments)[1]["symptom"] == "stream-offline"


def test_pasted_pages_are_judged_without_a_word(command: Command) -> None:
    paste = FIXTURES / "pasted" / "stuck" / "0.5.0_consumer_info_ORDERS_billing.txt"
    code, diagnosis = document(command, str(paste))
    assert (code, diagnosis["symptom"]) == (1, "consumer-stalled")
    assert [cause["code"] for cause in diagnosis["causes"] if cause["verdict"] == "confirmed"] == ["JSD403"]


def test_a_file_of_few_lines_queries_no_server(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "error.txt").write_text("nats: timeout\n")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        monkeypatch.setenv("NATS_URL", f"nats://127.0.0.1:{listening.getsockname()[1]}")
        code, diagnosis = document(command, "--isolated", "error.txt")
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert (code, diagnosis["symptom"]) == (3, "publish-not-acknowledged")


def test_words_need_no_quotes(command: Command) -> None:
    assert (
        document(command, "--offline", "duplicate", "orders", "since", "the", "restart")[1]["symptom"]
        == "duplicate-messages"
    )


def test_code_and_symptom_name_it_as_well(command: Command) -> None:
    assert document(command, "--offline", "--code", "10077")[1]["symptom"] == "insufficient-resources"
    assert document(command, "--offline", "--symptom", "consumer-stalled")[1]["symptom"] == "consumer-stalled"
    code, diagnosis = document(command, "--offline", "--code", "10065")
    assert (code, diagnosis["symptom"]) == (0, "configuration-refused")
    assert diagnosis["api_error"]["text"] == "subjects overlap with an existing stream"


def test_a_line_on_stdin(tmp_path: Path) -> None:
    line = b"2026/11/21 16:04:50 publish failed: nats: no responders available for request \xff\n"
    command = [sys.executable, "-m", "jsdoctor", "diagnose", "--offline", "--format", "json", "-"]
    done = subprocess.run(command, input=line, capture_output=True, check=False)
    assert json.loads(done.stdout)["symptom"] == "no-responders"


def test_logs_on_stdin_are_read_once() -> None:
    """The same evidence tells the symptom and decides its causes: standard input cannot be read again."""
    command = [sys.executable, "-m", "jsdoctor", "diagnose", "--isolated", "--logs", "-"]
    line = b"[7] JetStream cluster no metadata leader\n"
    done = subprocess.run(command, input=line, capture_output=True, check=False)
    assert b"confirmed JSD701" in done.stdout, done.stdout
    assert done.returncode == 1


def test_logs_alone_decide_what_they_can(command: Command, tmp_path: Path) -> None:
    line = "2026-11-21 16:04:5{} ERROR publish failed: nats: wrong last sequence: 5\n"
    (tmp_path / "app.log").write_text("".join(line.format(second) for second in range(4)))
    code, diagnosis = document(command, "nats: wrong last sequence: 5", "--logs", "app.log", "--stream", "ORDERS")
    verdicts = {cause["code"]: cause["verdict"] for cause in diagnosis["causes"]}
    assert code == 1
    assert verdicts["JSD201"] == "confirmed"
    assert verdicts["JSD713"] == "undecided", "no server wrote these lines"
    assert diagnosis["sources"][0]["kind"] == "logs"


def test_hostile_text_does_not_reach_the_terminal(command: Command) -> None:
    done = command("diagnose", "--offline", "\x1b[2J nats: no responders [red]x[/red] \u202e")
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_nobody_there(command: Command) -> None:
    """The differential is written all the same, undecided, and the run is inconclusive."""
    code, diagnosis = document(command, "consumer is stalled", "-s", "nats://127.0.0.1:1", "--timeout", "1s")
    assert code == 3
    assert {cause["verdict"] for cause in diagnosis["causes"]} == {"undecided"}
    assert diagnosis["gaps"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there is nothing to diagnose"),
        (("a", "--code", "10071"), "all name a symptom"),
        (("--symptom", "consumer-staled"), "did you mean 'consumer-stalled'"),
        (("consumer is stalled", "--consumer", "c"), "--consumer needs --stream"),
        (("wrong last sequence", "--expected-seq", "3"), "--expected-seq needs --stream"),
        (("--offline", "--probe", "a"), "--offline opens no connection"),
        (("--probe", "orders.>"), "no subject that an application publishes to"),
        (("--probe", "$JS.API.STREAM.DELETE.ORDERS"), "no subject that an application publishes to"),
        (("--probe", "orders..new"), "no subject that an application publishes to"),
        (("wrong last sequence", "--bundle", "x.zip", "-s", "localhost"), "--bundle judges what was captured"),
    ],
)
def test_what_does_not_fit_together_is_refused(command: Command, arguments: tuple[str, ...], message: str) -> None:
    done = command("diagnose", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_explain_knows_rules_symptoms_and_api_errors(command: Command) -> None:
    symptom = command("explain", "duplicate-messages").stdout
    assert symptom.startswith("# duplicate-messages\n")
    assert "## What runbooks claim" in symptom
    assert "JSD305 duplicates-stored" in symptom
    error = command("explain", "10071").stdout
    assert "wrong last sequence: {seq}" in error
    assert "Symptom: wrong-last-sequence" in error
    assert "JSD201" in error
    assert command("explain", "JSD403").stdout.startswith("# JSD403 ")
    both = command("explain", "wrong-last-sequence").stdout
    assert both.startswith("# JSD201 wrong-last-sequence")
    assert "\n# wrong-last-sequence\n" in both
    wrong = command("explain", "duplicate-mesages")
    assert wrong.returncode == 2
    assert "did you mean 'duplicate-messages'" in wrong.stderr


def test_every_symptom_can_be_explained_to_a_terminal(command: Command) -> None:
    done = command("explain", "messages-missing", "--color", "always")
    assert done.returncode == 0
    assert "JSD206" in done.stdout


def test_offline_judges_files_and_opens_no_connection(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    paste = str(ROOT / "fixtures" / "pasted" / "stuck" / "0.5.0_consumer_info_ORDERS_billing.txt")
    monkeypatch.setenv("NATS_URL", "nats://127.0.0.1:9")
    done = command("diagnose", "--offline", paste)
    assert done.returncode == 1, done.stderr
    assert "confirmed JSD403" in done.stdout
    assert done.stderr == ""
    live = command("diagnose", "--offline", "-s", "nats://127.0.0.1:9", paste)
    assert live.returncode == 2
    assert "--offline opens no connection, --server does" in live.stderr

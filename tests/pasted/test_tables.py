"""Tables and verdicts of tools: the shared reader of tables, and what each table becomes."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import Outcome
from jsdoctor.pasted.found import RecognisedDocument, Refused
from jsdoctor.pasted.tables import boxed_tables, spaced_tables
from jsdoctor.sources.file_kinds import pasted_replies
from tests.pasted.test_paste import PASTED, faults, judged, passed
from tests.support.evidence import FIXTURES

AT = datetime(2026, 11, 22, tzinfo=UTC)
HEALTH = """
╭────────────────────────────────────────────────────────────────────────────────────────────────────╮
│                                            Health Report                                           │
├────────┬─────────┬────────┬───────────────────┬────────┬───────────────────────────────────────────┤
│ Server │ Cluster │ Domain │ Status            │ Type   │ Error                                     │
├────────┼─────────┼────────┼───────────────────┼────────┼───────────────────────────────────────────┤
│ n1     │ C1      │        │ ok (200)          │        │                                           │
│ n2     │ C1      │        │ unavailable (503) │        │                                           │
│        │         │        │                   │ STREAM │ JetStream stream 'APP > S' is not current │
├────────┼─────────┼────────┼───────────────────┼────────┼───────────────────────────────────────────┤
│ 2      │ 1       │        │ ok: 1 / err: 1    │        │ 1                                         │
╰────────┴─────────┴────────┴───────────────────┴────────┴───────────────────────────────────────────╯
"""
PODS = """NAME     READY   STATUS             RESTARTS        AGE
nats-0   2/2     Running            0               5d
nats-1   1/2     CrashLoopBackOff   12 (3m3s ago)   5d
"""
CLAIMS = """NAMESPACE   NAME             STATUS    VOLUME     CAPACITY   ACCESS MODES   STORAGECLASS   AGE
nats        nats-js-nats-0   Bound     pvc-1a2b   10Gi       RWO            gp3            5d
nats        nats-js-nats-1   Pending                                        gp3            5d
"""
EVENTS = """LAST SEEN   TYPE      REASON      OBJECT       MESSAGE
3m          Warning   Unhealthy   pod/nats-1   Startup probe failed: HTTP probe failed with statuscode: 503
5m          Normal    Pulled      pod/nats-1   Container image "nats:2.10" already present on machine
"""


def replies(text: str) -> list[RecognisedDocument]:
    return [document for document in pasted_replies(text, AT) if isinstance(document, RecognisedDocument)]


def refusals(text: str) -> list[Refused]:
    return [refusal for refusal in pasted_replies(text, AT) if isinstance(refusal, Refused)]


@pytest.mark.parametrize("dress", ["{}", "> {}", "  {}"])
def test_a_table_is_read_in_whatever_box_it_comes(dress: str) -> None:
    drawn = ["╭───╮", "│ T │", "├─┬─┤", "│ A │ B C │", "├─┼─┤", "│ 1 │ x y │", "│   │ │", "╰─┴─╯"]
    plain = ["+---+---+", "| A | B C |", "+---+---+", "| 1 | x y |", "|   | |", "+---+---+"]
    markdown = ["| A | B C |", "|---|:---|", "| 1 | x y |", "| | |"]
    for lines, title in ((drawn, "T"), (plain, ""), (markdown, "")):
        (table,) = boxed_tables([dress.format(line) for line in lines])
        assert (table.title, table.columns) == (title, ("a", "b c"))
        assert [dict(row) for row in table.rows] == [{"a": "1", "b c": "x y"}, {"a": "", "b c": ""}]


def test_text_between_tables_ends_them() -> None:
    tables = list(boxed_tables(["| A | B |", "| 1 | 2 |", "", "words", "| C | D | E |", "| 1 | 2 | 3 |", "| 1 | 2 |"]))
    assert [(table.columns, len(table.rows)) for table in tables] == [
        (("a", "b"), 1),
        (("c", "d", "e"), 1),
        (("1", "2"), 0),
    ]


def test_empty_cells_of_spaced_tables_stay_empty() -> None:
    (table,) = spaced_tables(CLAIMS.splitlines())
    assert table.rows[1]["volume"] == ""
    assert table.rows[1]["storageclass"] == "gp3"


def test_errors_of_the_health_report_belong_to_the_server_above_them() -> None:
    health = {reply.server: reply.value for reply in replies(HEALTH) if reply.endpoint is Endpoint.HEALTHZ}
    assert health["n1"] == {"status": "ok", "status_code": 200}
    assert health["n2"]["status_code"] == 503
    assert health["n2"]["errors"] == [{"type": "STREAM", "error": "JetStream stream 'APP > S' is not current"}]
    assert len(health) == 2, "the line of totals is no server"


@pytest.mark.parametrize(
    ("text", "what", "words"),
    [
        (PODS.replace("nats", "app"), "the pods of kubectl", "app-1 is CrashLoopBackOff, 1/2 ready, restarted"),
        (
            "\n".join(PODS.replace("0   ", "3   ").splitlines()[:2]),
            "the pods of kubectl",
            "nats-3 is restarted 3 times",
        ),
        (CLAIMS, "the volume claims of kubectl", "nats-js-nats-1 is Pending"),
        (EVENTS, "the events of kubectl", "pod/nats-1: Unhealthy"),
        (PODS.replace("nats", "app").rpartition("app")[0], "the pods of kubectl", "all are ready"),
        (
            "CRITICAL JetStream Crit:1 unhealthy streams | memory=0B memory_pct=0%;75;90\n",
            "the result of nats server check for JetStream",
            "it is CRITICAL (Crit:1 unhealthy streams)",
        ),
        ("OK JetStream | memory=0B\n", "the result of nats server check for JetStream", "it is OK"),
        (
            '{"cmdline": ["nats-server", "-js"], "memstats": {"Alloc": 9112072, "NumGC": 4}, "now": "2026-11-21"}',
            "the variables of the Go runtime",
            "nothing of JetStream",
        ),
        (
            "[PASS] [CLUSTER_001] Cluster Memory Usage Outliers\n[FAIL] [META_001] Meta cluster offline replicas\n",
            "the report of nats audit analyze",
            "1 of its 2 checks failed (META_001)",
        ),
    ],
)
def test_what_no_rule_judges_is_reported_with_its_words(text: str, what: str, words: str) -> None:
    (refused,) = refusals(text)
    assert refused.what == what
    assert words in refused.reason
    assert replies(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "OK then | see you\n",
        "CRITICAL thing happened\n",
        "NAME AGE\nnats 5\n",
        "| a | b |\n| 1 | 2 |\n",
        "TLS  AND  MORE\n",
    ],
)
def test_other_text_is_no_table_of_a_tool(text: str) -> None:
    assert pasted_replies(text, AT) == []


@pytest.mark.parametrize("version", ["0.0.35", "0.5.0"])
def test_the_meta_group_of_a_report_is_judged(version: str) -> None:
    report = judged(
        PASTED / "one-down" / f"{version}_server_report_jetstream.txt", select=("JSD701", "JSD703", "JSD709")
    )
    assert faults(report) == set()
    assert passed(report) == {"JSD701"}, "a majority is heard"
    (n3,) = [result.finding for result in report.results if result.rule.code == "JSD703"]
    assert (n3.subject.name, n3.outcome) == ("n3", Outcome.NOT_EVALUATED)
    assert n3.message.startswith("no contact in the only sample")


def test_a_meta_group_without_a_column_of_ids_is_judged(tmp_path: Path) -> None:
    """Versions before 0.1.0 show the id of a peer whose name is not known beside what stands for its name."""
    page = tmp_path / "page.txt"
    page.write_text(
        "│ Name │ Leader │ Current │ Online │ Active │ Lag │\n├──────┼────────┼─────────┼────────┼────────┼─────┤\n"
        "│ A │ yes │ true │ true │ 0.00s │ 0 │\n│ B │ │ true │ true │ 0.53s │ 0 │\n"
        "│ Server name unknown at this time (peerID: jZ6RvVRH) │ │ false │ false │ 0.00s │ 0 │\n"
    )
    report = judged(page, select=("JSD701", "JSD703"))
    (lost,) = [result.finding for result in report.results if result.finding.outcome is Outcome.FAIL]
    assert lost.subject.name == "jZ6RvVRH"


def test_the_warning_below_a_report_is_read() -> None:
    assert faults(judged(PASTED / "no-quorum" / "0.5.0_server_report_jetstream.txt")) == {"JSD701"}


def test_a_health_report_is_judged_and_is_no_log() -> None:
    report = judged(PASTED / "no-quorum" / "0.5.0_server_report_health.txt")
    assert faults(report) == {"JSD801"}
    assert passed(report) <= {"JSD901"}
    assert passed(judged(PASTED / "one-down" / "0.5.0_server_report_health.txt")) == {"JSD801", "JSD901"}


@pytest.mark.parametrize("version", ["0.0.35", "0.5.0"])
def test_versions_and_slow_consumers_of_a_server_list_are_judged(version: str, tmp_path: Path) -> None:
    path = PASTED / "one-down" / f"{version}_server_list.txt"
    select = ("JSD709", "JSD806", "JSD811")
    assert passed(judged(path, select=select)) == {"JSD709", "JSD806"}
    changed = tmp_path / "paste"
    changed.write_text(path.read_text("utf-8").replace("2.15.1", "2.12.8", 1), "utf-8")
    assert "JSD709" not in passed(judged(changed, select=select))


def test_a_column_that_a_version_does_not_have_is_an_empty_cell() -> None:
    """Whoever copies a table may leave columns out; a reader asks for all of them."""
    for path in sorted(PASTED.glob("*/*.txt")):
        lines = path.read_text("utf-8").splitlines()
        for table in boxed_tables(lines):
            for left_out in range(1, len(table.columns)):
                kept = [name for number, name in enumerate(table.columns) if number != left_out]
                drawn = [f"| {table.title} |", f"| {' | '.join(kept)} |"]
                drawn += [f"| {' | '.join(row[name] for name in kept)} |" for row in table.rows]
                replies("\n".join(drawn))


@pytest.mark.parametrize("dress", ["{}", "> {}"])
def test_server_pods_of_a_table_are_facts(dress: str) -> None:
    (document,) = pasted_replies("\n".join(dress.format(line) for line in PODS.splitlines()), AT)
    assert isinstance(document, RecognisedDocument)
    assert [(pod["name"], pod["container"].get("waiting", "")) for pod in document.value["pods"]] == [
        ("nats-0", ""),
        ("nats-1", "CrashLoopBackOff"),
    ]


@pytest.mark.parametrize(
    ("name", "is_server"),
    [
        *(("nats-0", True), ("prod-nats-2", True), ("nats-js-1", True), ("nats", True)),
        *(("nats-box-0", False), ("my-nats-exporter-0", False), ("signats-0", False), ("nats-6c9f-x2z", False)),
    ],
)
def test_which_pods_of_a_table_are_servers(name: str, is_server: bool) -> None:
    table = f"NAME   READY   STATUS   RESTARTS   AGE\n{name}   1/1     Running   0   5d\n"
    assert any(isinstance(document, RecognisedDocument) for document in pasted_replies(table, AT)) == is_server


def test_server_pods_of_kubectl_get_json() -> None:
    (document,) = replies((FIXTURES / "kubernetes" / "pods.json").read_text())
    assert [pod["name"] for pod in document.value["pods"]] == ["n1", "n2", "n3", "n4"]
    assert document.value["namespace"] == "nats"


def _event(kind: str, name: str, reason: str, message: str, minute: int) -> dict[str, object]:
    about, last = {"kind": kind, "name": name}, f"2026-11-21T10:{minute:02}:00Z"
    return {"kind": "Event", "type": "Warning", "reason": reason, "message": message} | {
        "involvedObject": about,
        "lastTimestamp": last,
    }


OOM = "Memory cgroup out of memory: Killed process 4242 (nats-server) total-vm:2100000kB, anon-rss:1048576kB"
BACK_OFF = "Back-off restarting failed container nats in pod nats-1_nats(5f0c)"
FAULTY_EVENTS = f"""LAST SEEN   TYPE      REASON       OBJECT        MESSAGE
3m          Warning   OOMKilling   node/worker   {OOM}
5m          Warning   BackOff      pod/nats-1    {BACK_OFF}
5m          Warning   BackOff      pod/nats-2    Back-off restarting failed container reloader in pod nats-2_nats(5f0c)
"""


def test_events_name_the_servers_that_do_not_run(tmp_path: Path) -> None:
    """`kubectl get events`, as a table, as JSON and as YAML."""
    events = [_event("Node", "worker", "OOMKilling", OOM, 2), _event("Pod", "nats-1", "BackOff", BACK_OFF, 1)]
    items = {"apiVersion": "v1", "kind": "List", "items": events}
    for number, text in enumerate((FAULTY_EVENTS, json.dumps(items), yaml.safe_dump(items))):
        page = tmp_path / f"events{number}"
        page.write_text(text)
        report = judged(page)
        failed = [result.finding for result in report.results if result.rule.code == "JSD831"]
        assert {finding.subject.name for finding in failed} == {"nats-server on worker", "nats-1"}
        assert "JSD836" not in passed(report)


def test_an_event_that_is_over_is_no_fault() -> None:
    started = _event("Pod", "nats-1", "Started", "Started container nats", 5)
    events = [_event("Pod", "nats-1", "BackOff", BACK_OFF, 1), started]
    assert replies(json.dumps({"kind": "EventList", "items": events})) == []

"""Pages of `nats`, `nats-top` and `kubectl describe`, and replies of servers that no rule judges."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jsdoctor.app.pieces import pieces_of
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import Outcome
from jsdoctor.pasted.found import RecognisedDocument, Refused, reporter_of
from jsdoctor.sources.file_kinds import FileKind, pasted_replies
from tests.pasted.test_paste import PASTED, faults, judged
from tests.support.ruleset import rules

PAGES = PASTED / "pages"
AT = datetime(2026, 11, 23, tzinfo=UTC)
READ = {
    "server_info_n1.txt": {Endpoint.VARZ},
    "server_list_json.txt": {Endpoint.VARZ, Endpoint.JSZ},
    "kv_info_CFG.txt": {Endpoint.STREAM_LIST},
    "consumer_state_ORDERS_billing.txt": {Endpoint.CONSUMER_LIST},
}
REFUSED = {
    "account_info.txt": "nats account info",
    "stream_ls.txt": "list of streams",
    "consumer_ls_ORDERS.txt": "list of consumers",
    "server_report_routes.txt": "route report",
    "server_report_accounts_json.txt": "accounts report",
    "server_report_connections_json.txt": "connections report",
    "server_request_accounts.txt": "list of accounts",
    "n1_accountz.json": "list of accounts",
    "n1_accstatz.json": "statistics of accounts",
    "n1_routez.json": "list of routes",
    "n1_subsz.json": "list of subscriptions",
    "n1_ipqueuesz.json": "internal queues",
    "n1_stacksz.txt": "goroutine stacks",
    "stream_subjects_ORDERS_json.txt": "subjects of a stream",
    "account_report_statistics.txt": "statistics of an account",
    "server_report_cpu.txt": "processor report",
    "server_report_mem.txt": "memory report",
    "rtt_failed.txt": "nats rtt",
    "rtt.txt": "nats rtt",
}
TOP = """NATS server version 2.12.8 (uptime: 1h2m3s)
Server: n1
  ID:   NA64EYY7TGWC6T43PNMP2HYHYUF4343PQURELXLRFSWC3UMDQOGUOZ4X
  Load: CPU:  12.0%  Memory: 23.1M  Slow Consumers: 4
  In:   Msgs: 1.2K  Bytes: 10.1M  Msgs/Sec: 0.0  Bytes/Sec: 0
  Out:  Msgs: 3.4K  Bytes: 10.1M  Msgs/Sec: 0.0  Bytes/Sec: 0

Connections Polled: 0
"""
POD = """Name:             nats-1
Namespace:        nats
Node:             worker-2/10.0.1.7
Status:           Running
Controlled By:    StatefulSet/nats
Containers:
  nats:
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Ready:          False
    Restart Count:  12
Conditions:
  Type              Status
  Ready             False
Events:
  Type     Reason     Age                   From     Message
  ----     ------     ----                  ----     -------
  Normal   Pulled     10m (x12 over 40m)    kubelet  Container image "nats" already present on machine
  Warning  Unhealthy  5m                    kubelet  Startup probe failed: HTTP probe failed with statuscode: 503
"""
CLAIM = """Name:          nats-js-nats-1
Namespace:     nats
StorageClass:  gp3
Status:        Pending
Access Modes:
VolumeMode:    Filesystem
Used By:       nats-1
Events:
  Type     Reason              Age               From                         Message
  ----     ------              ----              ----                         -------
  Warning  ProvisioningFailed  3s (x12 over 2m)  persistentvolume-controller  storageclass "gp3" not found
"""


def _replies(text: str) -> list[RecognisedDocument]:
    return [document for document in pasted_replies(text, AT) if isinstance(document, RecognisedDocument)]


def _refusals(text: str) -> list[Refused]:
    return [refusal for refusal in pasted_replies(text, AT) if isinstance(refusal, Refused)]


def _named(endings: dict[str, object]) -> list[object]:
    pages = [
        pytest.param(path, expected, id=path.name)
        for path in sorted(PAGES.iterdir())
        for ending, expected in endings.items()
        if path.name.endswith(ending)
    ]
    assert len(pages) >= len(endings)
    return list(pages)


@pytest.mark.parametrize(("page", "endpoints"), _named(dict(READ)))
def test_a_page_is_read_from_every_version(page: Path, endpoints: set[Endpoint]) -> None:
    assert {reply.endpoint for reply in _replies(page.read_text("utf-8"))} == endpoints
    report = judged(page)
    assert [result for result in report.results if result.finding.outcome is Outcome.ERROR] == []
    assert faults(report) == set()


@pytest.mark.parametrize(("page", "what"), _named(dict(REFUSED)))
def test_a_page_that_no_rule_judges_is_named_and_is_no_pass(page: Path, what: str) -> None:
    (piece,) = pieces_of([str(page)], rules())
    assert piece.kinds == (FileKind.REPLY,)
    report = judged(page)
    assert any(gap.requested and what in gap.reason for gap in report.gaps), report.gaps


def test_server_info_gives_exact_figures_only() -> None:
    for page in PAGES.glob("*_server_info_n1.txt"):
        (document,) = _replies(page.read_text("utf-8"))
        assert (document.server, document.value["version"], document.value["cluster"]) == (
            "n1",
            "2.12.8",
            {"name": "C1"},
        )
        assert (document.value["max_connections"], document.value["cores"]) == (65536, 2)
        assert {"mem", "max_payload"} <= document.unseen
        assert "mem" not in document.value


def test_a_list_of_servers_in_json_shows_what_each_reports_of_itself() -> None:
    for page in PAGES.glob("*_server_list_json.txt"):
        documents = _replies(page.read_text("utf-8"))
        assert {document.server for document in documents} == {"n1", "n2", "n3"}
        stores = [
            document.value["config"]["max_storage"] for document in documents if document.endpoint is Endpoint.JSZ
        ]
        assert stores == [256 << 20] * 3


def test_nats_top_shows_a_server() -> None:
    (document,) = _replies(TOP)
    assert (document.server, document.value["version"], document.value["slow_consumers"]) == ("n1", "2.12.8", 4)
    assert "connections" in document.unseen


def test_an_account_at_a_limit_is_shown_beside_the_refusal() -> None:
    text = (PAGES / "0.5.0_account_info.txt").read_text("utf-8").replace("3 of Unlimited", "3 of 3")
    (refused,) = _refusals(text)
    assert "streams 3 of 3" in refused.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (POD, ["pod nats-1", "OOMKilled", "exit code 137", "restarted 12 times", "Unhealthy: Startup probe failed"]),
        (CLAIM, ["volume claim nats-js-nats-1", "status Pending", 'ProvisioningFailed: storageclass "gp3" not found']),
        ("\n".join(f"> {line}" for line in POD.splitlines()), ["pod nats-1", "OOMKilled"]),
        (POD.partition("Events:")[0], ["pod nats-1", "OOMKilled"]),
        (POD + "\n" + CLAIM, ["OOMKilled", "status Pending"]),
    ],
)
def test_a_description_by_kubectl_is_refused_with_what_is_wrong(text: str, words: list[str], tmp_path: Path) -> None:
    refusals = " ".join(f"{refusal.what} {refusal.reason}" for refusal in _refusals(text))
    assert [word for word in words if word not in refusals] == []
    (tmp_path / "page").write_text(text)
    assert any(gap.requested for gap in judged(tmp_path / "page").gaps)


@pytest.mark.parametrize(
    "path", sorted(PASTED.glob("*/n?_jsz.json")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_the_leader_of_a_group_names_the_sender_of_a_bare_reply(path: Path) -> None:
    server = path.name.partition("_")[0]
    reply = json.loads(path.read_text("utf-8"))
    groups = [reply.get("meta_cluster") or {}]
    groups += [stream["cluster"] for account in reply["account_details"] for stream in account["stream_detail"]]
    leads = any(group.get("leader") == server for group in groups)
    assert reporter_of(reply) == (server if leads else "")


def test_a_bare_reply_of_the_leader_is_judged_as_its_own() -> None:
    report = judged(PASTED / "stuck" / "n1_jsz.json")
    assert faults(report) == {"JSD403"}
    assert "()" not in report.headline


@pytest.mark.parametrize("name", ["n1_stacksz.txt", "0.5.0_rtt_failed.txt"])
def test_what_no_rule_judges_is_no_fault_and_no_pass(name: str) -> None:
    report = judged(PAGES / name)
    assert faults(report) <= {"JSD901"}


def test_a_crash_is_distinguished_from_the_stacks_of_a_server(tmp_path: Path) -> None:
    stacks = (PAGES / "n1_stacksz.txt").read_text("utf-8")
    crash = tmp_path / "crash.txt"
    crash.write_text("panic: runtime error: invalid memory address or nil pointer dereference\n\n" + stacks, "utf-8")
    assert "JSD805" in faults(judged(crash))
    assert "JSD805" not in faults(judged(PAGES / "n1_stacksz.txt"))


@pytest.mark.parametrize(
    "text",
    [
        "{\n  type: 'io.nats.jetstream.api.v1.consumer_info_response',\n  stream_name: 'ORDERS',\n  name: 'billing',\n",
        "[\n  {\n    stream_name: 'ORDERS',\n    name: 'audit',\n    created: '2026-11-25T19:13:30Z',\n  }\n]\n",
        "ConsumerInfo(name='billing', stream_name='ORDERS', config=ConsumerConfig(name='billing'))\n",
    ],
)
def test_objects_that_programs_print_are_named_and_no_pass(text: str) -> None:
    (refused,) = pasted_replies(text, AT)
    assert isinstance(refused, Refused)
    assert "printed as an object of its language" in refused.what


def test_a_metric_that_is_no_date_ends_nothing() -> None:
    labels = '{account="A",stream_name="S",consumer_name="c",server_name="n1"}'
    text = "".join(
        f"# TYPE {name} gauge\n{name}{labels} {value}\n"
        for name, value in (("jetstream_consumer_last_delivery_seconds", 1e17), ("jetstream_consumer_num_pending", 5))
    )
    assert len(_replies(text)) == 1

"""What reads text that others wrote, each fed with one long run, alone and where runs are seldom expected.

A pattern that begins again at each sign of a run, or a loop that copies the rest of a text, takes the square of its
length: seconds for 50 KB, minutes for 500 KB.
"""

import json
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC
from functools import cache
from pathlib import Path
from types import FrameType

from jsdoctor.configuration.baseline import BaselineError, parse_baseline
from jsdoctor.metrics.series import api_answer
from jsdoctor.model.problems import UsageProblem
from jsdoctor.pages.symptom_page import parse_symptom_page
from jsdoctor.redaction.redact import scrub_line
from jsdoctor.sources.connect.contexts import read_context
from jsdoctor.sources.connect.credentials import creds_login, nkey_login
from jsdoctor.sources.connect.server_urls import parse_servers
from jsdoctor.sources.file_kinds import of_text
from jsdoctor.sources.window import parse_moment
from tests.fuzz import loki, targets
from tests.fuzz.manifests import check_manifest

UNITS = (
    *('"', "'", "`", " ", "\t", "\n", " \n", "[", "]", "{", "}", "\\", '\\"', "1", "1,", "=", "a=", 'a="', '{a="'),
    *("\x1b[", ",", ":", "a:", "-", "--", "- ", "-----BEGIN A-----", "a-", "a.", "a", "A", "/", "# ", "|", "| ", "> "),
    *(
        "@",
        "://",
        "://a:b",
        "$",
        "${",
        "%",
        "\x00",
        "\\u0000",
        "token=",
        "password ",
        "cookie:",
        "eyJ",
        "sk-a-",
        "--a-",
    ),
    *('{"a":', "[1,", '"a":1,', "a: ", "a{", '""', "''", '"\n', "+++\n", "## A\n", "<", "(", "[ERR] ", "10:00:00 "),
)
_STAMP = b"[27135] 2026/11/21 09:23:30.349568 [ERR] "
_STREAM = b'{"apiVersion":"jetstream.nats.io/v1beta2","kind":"Stream","metadata":{"name":"x"},"spec":{"name":%s}}'
_IN_YAML = b".yaml\napiVersion: jetstream.nats.io/v1beta2\nkind: Stream\nspec:\n  name: "
_IN_CONF = b".conf\nport: 4222\njetstream {\n store_dir: "
_HCL = 4_000
"""Characters of HCL that are fed: its parser, which is not ours, takes a second for each 100,000."""


class TooSlowError(AssertionError):
    """A run took more processor time than its length explains."""


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Raises TooSlowError after so much processor time of this process."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TooSlowError(f"still at work after {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, late)
    started = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    taken = time.process_time() - started
    if taken > seconds:  # within a call of a library in C, no signal is seen
        raise TooSlowError(f"{taken:.1f} s of processor time instead of {seconds:g} s")


def read(reader: str, run: bytes) -> None:
    """What the reader refuses is fine, if it does so in time."""
    run_reader, refusals = READERS[reader]
    with suppress(*refusals):
        run_reader(run)


def _text(run: bytes) -> str:
    return run.decode(errors="replace")


def _json(run: bytes) -> bytes:
    return json.dumps(_text(run)).encode()


@cache
def _page() -> bytes:
    return targets.pages()[0]


@cache
def _context() -> Path:
    return Path(tempfile.mkdtemp(prefix="jsdoctor-runs-")) / "context.json"


def _read_context(content: bytes) -> None:
    _context().write_bytes(content)
    read_context(_context(), "x")


def _of_loki(run: bytes) -> bytes:
    values = [["1795255200000000000", _text(run)]]
    data = {"resultType": "streams", "result": [{"stream": {"app": _text(run)}, "values": values}]}
    return json.dumps({"status": "success", "data": data}).encode()


def _secret_beside_its_copies(run: bytes) -> bytes:
    return b'{"password":%s,"a":%s,"b":[%s],"c":1}' % (_json(run + b"Z9"), _json(run), _json(run + run))


def _config_map(run: bytes) -> bytes:
    conf = f"port: 4222\njetstream {{\n store_dir: {_text(run)}\n}}\n"
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}, "data": {"nats.conf": conf}}
    ).encode()


Reader = tuple[Callable[[bytes], object], tuple[type[Exception], ...]]


def _target(name: str, before: bytes = b"", after: bytes = b"") -> Reader:
    target = targets.TARGETS[name]
    return lambda run: target.run(before + run + after), target.refusals


def _manifest(before: bytes, after: bytes = b"", longest: int | None = None) -> Reader:
    _, refusals = _target("manifest")
    return lambda run: check_manifest(before + run[:longest] + after), refusals


READERS: dict[str, Reader] = {
    "pasted log": _target("pasted log"),
    "log line": _target("pasted log", _STAMP, b" end\n"),
    "kind of a file": (lambda run: of_text(_text(run), targets.rewriter().is_log), ()),
    "paste": _target("paste"),
    "reply": _target("paste", b'{"type":"io.nats.jetstream.api.v1.stream_info_response","config":{"name":"'),
    "object of nats.js": _target("paste", b"{ name: '"),
    "object of nats.py": _target("paste", b"StreamInfo(config=StreamConfig(name='"),
    "label of a page": _target("paste", b"Information for Stream A\n\n  Description: a", b"b\n"),
    "page of a server": _target("paste", b"Server information for n1 (NAAA)\n\n  Version: a", b"b\n"),
    "description of a pod": _target("paste", b"Name:  nats-0\nNode:  a", b"b\nRestart Count:  1\n"),
    "chart": _target("paste", b"  CPU Usage", b"x\n"),
    "round trips": _target("paste", b"nats://a:4222:", b"x\n"),
    "cell": _target("paste", b"| ", b" |\n"),
    "exposition": _target("paste", b'# TYPE nats_x gauge\nnats_x{a="', b'"} 1\nnats_y{'),
    "Prometheus reply": (lambda run: api_answer(b'{"status":' + run), _target("Loki reply")[1]),
    "matched line": _target("clip line", _STAMP),
    "line beside a secret": (lambda run: scrub_line(_text(run) + " password=x"), ()),
    "question": _target("clip question"),
    "redacted text": _target("redaction"),
    "redacted copies": (lambda run: targets.check_redaction(_secret_beside_its_copies(run)), ()),
    "Loki reply": _target("Loki reply", b'{"status":'),
    "Loki line": (lambda run: loki.check_reply(_of_loki(run)), _target("Loki reply")[1]),
    "LogQL": _target("LogQL"),
    "LogQL selector": _target("LogQL", b"{app=", b"}"),
    "LogQL pipeline": _target("LogQL", b'{app="x"} '),
    "rule page": _target("page"),
    "front matter": (
        lambda run: targets.check_page(_page().replace(b"+++\n", b"+++\nx = " + run + b"\n", 1)),
        _target("page")[1],
    ),
    "section of a page": (
        lambda run: targets.check_page(_page().replace(b"## Fix\n", b"## Fix\n\n" + run + b"\n")),
        _target("page")[1],
    ),
    "symptom page": (lambda run: parse_symptom_page("x.md", _text(run)), _target("page")[1]),
    "configuration": _target("configuration"),
    "configured text": _target("configuration", b"context = "),
    "baseline": (lambda run: parse_baseline("x.json", b'{"findings":' + run), (BaselineError,)),
    "duration": _target("duration"),
    "moment": (lambda run: parse_moment(_text(run), targets.NOW, UTC), (ValueError,)),
    "setting": _target("setting"),
    "value of a setting": _target("setting", b"JSD403.warn_fraction="),
    "nats-server configuration": _manifest(b".conf\n"),
    "value in a nats-server configuration": _manifest(_IN_CONF, b"\n}\n"),
    "nats-server configuration in a ConfigMap": (
        lambda run: check_manifest(b".json\n" + _config_map(run)),
        _target("manifest")[1],
    ),
    "YAML": _manifest(b".yaml\n"),
    "value in YAML": _manifest(_IN_YAML, b"\n"),
    "raw value of a chart": _manifest(b".yaml\nconfig:\n  merge:\n    a: |\n      <<", b"x\n"),
    "JSON manifest": _manifest(b".json\n"),
    "value in a JSON manifest": (lambda run: check_manifest(b".json\n" + _STREAM % _json(run)), _target("manifest")[1]),
    "Terraform": _manifest(b".tf\n", longest=_HCL),
    "manifest of no kind": _manifest(b".txt\n"),
    "context": (_read_context, (UsageProblem,)),
    "value in a context": (lambda run: _read_context(b'{"url":%s,"user":3}' % _json(run)), (UsageProblem,)),
    "server URLs": (lambda run: parse_servers(_text(run), "x"), (UsageProblem,)),
    "login in a URL": (lambda run: parse_servers(f"nats://{_text(run)}@h:4222", "x"), (UsageProblem,)),
    "credentials": (lambda run: creds_login(_text(run), "x"), (UsageProblem,)),
    "JWT in credentials": (
        lambda run: creds_login(f"-----BEGIN NATS USER JWT-----\n{_text(run)}", "x"),
        (UsageProblem,),
    ),
    "nkey": (lambda run: nkey_login(_text(run), "x"), (UsageProblem,)),
    "page with a secret": _target("clip shown"),
}

"""What is fed with mutated input: for each target its corpus, how to change it, what it may raise, what must hold."""

import gzip
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from jsdoctor.bundles.bundle import encode_bundle
from jsdoctor.checks.monitor_metadata import parse_monitor_duration
from jsdoctor.configuration.file import ConfigurationError, parse_configuration
from jsdoctor.configuration.option_values import parse_setting
from jsdoctor.engine.loader import PageText, load_rules
from jsdoctor.engine.overrides import overrides
from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.lines.stamp import LogYear
from jsdoctor.logs.paste.rewrite import Rewriter
from jsdoctor.manifests.tree import ManifestError
from jsdoctor.model.duration import format_duration, parse_duration
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import Outcome
from jsdoctor.model.problems import Problem
from jsdoctor.model.report import Report
from jsdoctor.packets.analysis import Analysis
from jsdoctor.packets.capture_file import Damaged, Foreign
from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.pages.front_matter import PageError
from jsdoctor.pasted.sample import pasted_sample, with_unseen
from jsdoctor.redaction.redact import Secret, redact
from jsdoctor.remedy.offer import with_offers
from jsdoctor.render.explain import page_markdown
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.options import RenderOptions
from jsdoctor.replies.assemble import assemble
from jsdoctor.replies.decoding import ReplyError
from jsdoctor.sources.bundle.read import read_bundle
from jsdoctor.sources.file_kinds import pasted_replies
from tests.fuzz import clipboard, loki
from tests.fuzz.manifests import check_manifest, manifests, mutate_manifest
from tests.fuzz.mutation import Mutate, mutate_bytes, mutate_json, mutate_text, mutate_zip, pack
from tests.logs.shapes import SHAPES, dressed
from tests.servers.binaries import ROOT
from tests.support.evidence import FIXTURES, base_names, samples_of
from tests.support.ruleset import actions, checks, rules

CORPUS = Path(__file__).resolve().parent / "corpus"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
_MAX_CAPTURE = 120_000
_PASTE = 20_000
SECRET = "c0rrect-H0rse_Battery"


class BrokenPromiseError(AssertionError):
    """Nothing was raised, and what came out is wrong all the same."""


@dataclass(frozen=True)
class Target:
    """Something that reads what others wrote. `refusals`: the exceptions by which it says that it cannot."""

    corpus: Callable[[], Sequence[bytes]]
    mutate: Mutate
    run: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...] = ()


def check_samples(samples: Sequence[Sample]) -> None:
    """All rules on some evidence, and every report of it. A check that crashes must not hide behind its outcome."""
    evidence = assemble(samples)
    evaluation = evaluate(select_rules(rules()), checks(), evidence, {}, keep_passes=True)
    crashed = [result for result in evaluation.results if result.finding.outcome is Outcome.ERROR]
    if crashed:
        raise BrokenPromiseError(f"{crashed[0].rule.code}: {crashed[0].finding.message}")
    report = Report(
        version="0",
        started=NOW,
        finished=NOW,
        sources=(),
        verdicts=evaluation.verdicts,
        results=with_offers(evaluation.results, actions),
        gaps=(*evidence.gaps, *evaluation.gaps),
        headline="",
    )
    for render in FORMATS.values():
        render(report, RenderOptions(verbose=2, max_examples=2)).encode()


def check_bundle(data: bytes) -> None:
    """A file, as `check --bundle` reads it."""
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        file.write(data)
        file.flush()
        check_samples(read_bundle(Path(file.name)).samples)


@cache
def bundles() -> list[bytes]:
    """Every recording as a bundle."""
    return [pack(encode_bundle(samples_of(name), created=NOW, version="0")) for name in base_names()]


def archives() -> list[bytes]:
    """Archives that the real `nats audit gather` wrote."""
    return [path.read_bytes() for path in (*sorted(FIXTURES.rglob("*.zip")), *sorted(CORPUS.glob("*.zip")))]


@cache
def replies() -> list[bytes]:
    """Every recorded reply, after a line that says of which recording it is, and which of its replies."""
    return [
        json.dumps([name, number, place]).encode() + b"\n" + exchange.body
        for name in base_names()
        for number, sample in enumerate(samples_of(name))
        for place, exchange in enumerate(sample.exchanges)
    ]


def mutate_reply(random: Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    """The reply, not the line before it."""
    line, body = data.split(b"\n", 1)
    return line + b"\n" + mutate_json(random, body, corpus)


def check_reply(data: bytes) -> None:
    """A recording in which one reply is another."""
    line, body = data.split(b"\n", 1)
    name, number, place = json.loads(line)
    samples = list(samples_of(name))
    exchanges = list(samples[number].exchanges)
    exchanges[place] = msgspec.structs.replace(exchanges[place], body=body)
    samples[number] = msgspec.structs.replace(samples[number], exchanges=tuple(exchanges))
    check_samples(samples)


@cache
def pages() -> list[bytes]:
    """The shipped rule pages, without their references to other pages: each is loaded alone."""
    shipped = (path.read_bytes() for path in sorted((ROOT / "rules").glob("*/JSD*.md")))
    return [re.sub(rb"^explained_by = \[.*?^\]\n", b"", page, flags=re.MULTILINE | re.DOTALL) for page in shipped]


def check_page(data: bytes) -> None:
    """A rule page: loaded, and shown."""
    text = data.decode(errors="replace")
    code = re.search(r'^code = "(\w+)"', text, re.MULTILINE)
    page = PageText(f"{code[1] if code else 'JSD401'}.md", "consumer_lag", text)
    for rule in load_rules([page], checks(), frozenset(actions())):
        page_markdown(rule, RenderOptions())


def configurations() -> list[bytes]:
    """Configuration files with every key."""
    return [path.read_bytes() for path in sorted(CORPUS.glob("*.toml"))]


def check_configuration(data: bytes) -> None:
    """A file of our own, or `pyproject.toml`, and what its rule tables set."""
    text = data.decode(errors="replace")
    config = parse_configuration("jsdoctor.toml", text, ("tool", "jsdoctor") if "tool" in text else ())
    overrides(rules(), config.rule_settings, config.origin)


def words(name: str) -> list[bytes]:
    """The lines of a file of the corpus."""
    return (CORPUS / name).read_bytes().splitlines()


def check_duration(data: bytes) -> None:
    """Both spellings. What is read as a duration can be written, and read again."""
    text = data.decode(errors="replace")
    for parse in (parse_duration, parse_monitor_duration):
        try:
            duration_ns = parse(text)
        except ValueError:
            continue
        if parse_monitor_duration(format_duration(duration_ns)) != duration_ns:
            raise BrokenPromiseError(f"{text!r} is {duration_ns} ns, written {format_duration(duration_ns)}")


def check_setting(data: bytes) -> None:
    """What stands behind `--set`."""
    overrides(rules(), [parse_setting(data.decode(errors="replace"))], "--set")


def secrets() -> list[bytes]:
    """Replies with a secret planted: as a value, inside of others, in keys and URLs."""
    bodies = [line.split(b"\n", 1)[1] for line in replies()]
    planted = [
        SECRET,
        f"nats://u:{SECRET}@h:4222",
        f"x {SECRET} y",
        {SECRET: SECRET},
        {"password": SECRET},
        [SECRET] * 3,
    ]
    return [json.dumps({"a": value, "b": json.loads(body)}).encode() for value in planted for body in bodies[:20]]


def check_redaction(data: bytes) -> None:
    """No copy of what is known stays, and JSON stays JSON."""
    exchange = Exchange(Access.SYSTEM, Endpoint.VARZ, "VARZ", NOW, 1, data)
    done = redact([Sample(NOW, (exchange,))], [Secret("password", SECRET)])
    clean = done.samples[0].exchanges[0].body
    if SECRET.encode() in clean:
        raise BrokenPromiseError("the secret is still there")
    try:
        msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    msgspec.json.decode(clean)


@cache
def captures() -> list[bytes]:
    """Small packet captures, unpacked: both formats, all link layers there are."""
    packed = (path.read_bytes() for path in sorted((FIXTURES / "captures").glob("*.gz")))
    return [content for content in map(gzip.decompress, packed) if len(content) < _MAX_CAPTURE]


def check_capture(data: bytes) -> None:
    """A capture in blocks, with what NATS says in it. What was read before the damage counts."""
    observer = NatsObserver()
    analysis = Analysis(0, "fuzzed", observer=observer)
    try:
        for start in range(0, len(data), 8192):
            analysis.feed(data[start : start + 8192])
    finally:
        analyzed = analysis.finish()
        msgspec.json.encode((analyzed, observer.traffic()))
    if analyzed.capture.tcp > analyzed.capture.packets:
        raise BrokenPromiseError("more segments than packets")


def pastes() -> list[bytes]:
    """Replies and pages of the nats command, as they are pasted."""
    return [path.read_bytes() for path in sorted((FIXTURES / "pasted").glob("*/*")) if path.stat().st_size < _PASTE]


def check_paste(data: bytes) -> None:
    """Whatever is pasted is read, and what it does not show stays unread, without an error."""
    pasted = pasted_sample(pasted_replies(data.decode(errors="replace"), NOW), NOW)
    with_unseen(assemble((pasted.sample,)), [pasted])


@cache
def pasted_logs() -> list[bytes]:
    """Lines of servers, in every form that they are pasted and exported in."""
    lines = (FIXTURES / "logs" / "2.15.1" / "c2-n1.log").read_text("utf-8").splitlines()[:12]
    native = "\n".join(line for line in lines if line.startswith("["))
    return [dressed(shape, native).encode() for shape in SHAPES]


@cache
def rewriter() -> Rewriter:
    """Knows the signatures of all rules."""
    return Rewriter(Matcher([signature for rule in rules() for signature in rule.signatures]), LogYear(NOW.year))


def check_pasted_log(data: bytes) -> None:
    """Whatever is pasted becomes lines, and what a text is gets an answer."""
    rewriter().rewritten(data)
    rewriter().is_log(data.decode(errors="replace"))


TARGETS: dict[str, Target] = {
    "pasted log": Target(pasted_logs, mutate_text, check_pasted_log),
    "paste": Target(pastes, mutate_text, check_paste),
    "bundle": Target(bundles, mutate_zip, check_bundle, (Problem,)),
    "archive": Target(archives, mutate_zip, check_bundle, (Problem,)),
    "reply": Target(replies, mutate_reply, check_reply),
    "Loki reply": Target(loki.replies, mutate_json, loki.check_reply, (ReplyError,)),
    "LogQL": Target(loki.queries, mutate_text, loki.check_query, (ValueError,)),
    "page": Target(pages, mutate_text, check_page, (PageError,)),
    "configuration": Target(configurations, mutate_text, check_configuration, (ConfigurationError,)),
    "duration": Target(lambda: words("durations.txt"), mutate_text, check_duration),
    "setting": Target(lambda: words("settings.txt"), mutate_text, check_setting, (ValueError,)),
    "redaction": Target(secrets, mutate_json, check_redaction),
    "manifest": Target(manifests, mutate_manifest, check_manifest, (ManifestError,)),
    "clip line": Target(clipboard.lines, clipboard.mutate_with_plants, clipboard.check_line),
    "clip page": Target(clipboard.pages, clipboard.mutate_with_plants, clipboard.check_page),
    "clip question": Target(clipboard.questions, clipboard.mutate_with_plants, clipboard.check_question),
    "clip shown": Target(clipboard.pages, clipboard.mutate_with_plants, clipboard.check_shown),
    "capture": Target(captures, mutate_bytes, check_capture, (Damaged, Foreign)),
}

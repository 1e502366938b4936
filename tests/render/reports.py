"""Reports built by hand: the renderer's input is data, so nothing here has to come from a server."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

from msgspec.structs import replace

from jsdoctor.engine.incidents import incidents
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER, Confidence, Finding, Observation, Offer, Outcome, Severity, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import EvidenceOrigin, Report, Result, RuleVerdict
from jsdoctor.model.rule import Rule
from jsdoctor.model.suppression import EXISTING, Suppression
from jsdoctor.model.topology import Topology

STARTED = datetime(2025, 3, 9, 3, 4, 5, 120_000, tzinfo=UTC)
HEADLINE = "12 streams, 40 consumers, 3 servers"


def rule(code: str, slug: str, severity: Severity = Severity.ERROR) -> Rule:
    """A rule as its page would declare it."""
    title = f"Nothing is wrong with {slug.replace('-', ' ')}"
    return Rule(code=code, slug=slug, title=title, checks=("collection.none",), severity=severity)


ACK_PENDING = rule("JSD403", "consumer-ack-pending-at-limit")
NEAR_LIMIT = rule("JSD602", "stream-near-limit", Severity.WARNING)
REPLICAS = rule("JSD605", "replicas-risky", Severity.WARNING)
META = rule("JSD701", "meta-leader-missing", Severity.CRITICAL)
CLOCK = rule("JSD102", "server-server-clock-skew")
AUTH = rule("JSD810", "server-unprotected", Severity.INFO)
GROWING = rule("JSD402", "consumer-lag-growing")
PROGRESS = rule("JSD404", "consumer-no-progress")
HEALTH = rule("JSD801", "server-unhealthy")
GAP = rule("JSD901", "collection-gap", Severity.WARNING)
LAG = rule("JSD401", "consumer-lag-high", Severity.WARNING)
MIRROR = rule("JSD607", "mirror-or-source-stalled", Severity.WARNING)


def consumer(name: str, stream: str = "ORDERS", account: str = "APP") -> Subject:
    return Subject(kind="consumer", name=name, account=account, stream=stream)


def stream(name: str, account: str = "APP") -> Subject:
    return Subject(kind="stream", name=name, account=account)


def server(name: str) -> Subject:
    return Subject(kind="server", name=name)


def report(
    results: Iterable[Result] = (),
    gaps: Iterable[Gap] = (),
    verdicts: Iterable[RuleVerdict] = (),
    headline: str = HEADLINE,
    topology: Topology | None = None,
) -> Report:
    """A report of one live source that took 2.4 seconds. Verdicts follow from the results, given ones come on top."""
    results = tuple(results)
    judged: dict[str, RuleVerdict] = {}
    for result in results:
        counts = dict(judged[result.rule.code].subjects) if result.rule.code in judged else {}
        counts[result.finding.outcome] = counts.get(result.finding.outcome, 0) + 1
        worst = next(outcome for outcome in (Outcome.ERROR, Outcome.FAIL, *Outcome) if outcome in counts)
        judged[result.rule.code] = RuleVerdict(result.rule, worst, counts)
    built = Report(
        version="0.1.0",
        started=STARTED,
        finished=STARTED + timedelta(seconds=2.4),
        sources=(
            EvidenceOrigin(kind="live", name="nats://n1.example:4222", collected_at=STARTED + timedelta(seconds=2)),
        ),
        verdicts=(*judged.values(), *verdicts),
        results=results,
        gaps=tuple(gaps),
        headline=headline,
        topology=topology,
    )
    return replace(built, incidents=incidents(built.failures(), EvidenceSet({}, {}), built.finished))


def passed(*rules: Rule, subjects: int = 3) -> list[RuleVerdict]:
    """Verdicts of rules that looked and found nothing."""
    return [RuleVerdict(rule, Outcome.PASS, {Outcome.PASS: subjects}) for rule in rules]


def stuck(subject: Subject, limit: int = 1000, severity: Severity | None = None) -> Result:
    """A consumer at its ack-pending limit, or near it where a severity is given."""
    used = limit if severity is None else limit * 9 // 10
    finding = Finding(
        subject=subject,
        severity=severity,
        message=f"{used:,} of {limit:,} allowed messages are unacknowledged: delivery has stopped, 5,213 messages wait",
        measured=used / limit,
        threshold=1.0 if severity is None else 0.8,
        unit="ratio",
        evidence=(
            Observation(source="n1", path="num_ack_pending", value=used, at=STARTED),
            Observation(source="n1", path="config.max_ack_pending", value=limit, at=STARTED),
        ),
    )
    command = f"nats consumer edit {subject.stream} {subject.name} --max-pending={2 * limit} -f"
    return Result(ACK_PENDING, finding, Offer("consumer.raise_max_ack_pending", "safe", (command,)))


def skewed() -> Result:
    """A measurement with an uncertainty, a duration and less than full confidence."""
    finding = Finding(
        subject=server("n2"),
        message="the clock of n2 is ahead of the other servers' clocks",
        confidence=Confidence.MEDIUM,
        measured=90_200_000_000,
        threshold=90_000_000_000,
        unit="duration",
        uncertainty=5_000_000,
        first_seen=STARTED - timedelta(hours=1),
        last_seen=STARTED,
    )
    return Result(CLOCK, finding, Offer("none", "manual"))


def nearly_full() -> Result:
    """A stream whose fix is long, and has two steps."""
    subject = stream("EVENTS")
    finding = Finding(
        subject=subject,
        message="the stream holds 1.4 GiB of 1.5 GiB; with discard old its oldest messages are removed next",
        measured=1_503_238_553,
        threshold=1_288_490_188,
        unit="bytes",
    )
    commands = (
        "nats stream edit EVENTS --max-bytes=3221225472 --description='raised after the incident in March' --no-ack -f",
        "nats stream info EVENTS",
    )
    return Result(NEAR_LIMIT, finding, Offer("stream.raise_max_bytes", "disruptive", commands))


def no_meta_leader() -> Result:
    return Result(META, Finding(subject=CLUSTER, message="no server leads the meta group"), Offer("none", "manual"))


def open_server() -> Result:
    return Result(AUTH, Finding(subject=server("n1"), message="anyone who reaches port 4222 may do anything"))


def unseen(name: str, reason: str, how_to_get: str, requested: bool = True) -> Gap:
    return Gap(kind="stream", subject=stream(name), reason=reason, how_to_get=how_to_get, requested=requested)


def silent_gap(name: str) -> tuple[Gap, Result]:
    """A gap, and what JSD901 says of it."""
    gap = unseen(name, "its leader did not respond within 5s", "nats stream info " + name)
    return gap, Result(GAP, Finding(subject=gap.subject, message=f"not seen: {gap.reason}"))


def undecided(rule: Rule, subject: Subject, reason: str, how_to_get: str = "") -> Result:
    finding = Finding(subject=subject, outcome=Outcome.NOT_EVALUATED, message=reason, how_to_get=how_to_get)
    return Result(rule, finding)


def crashed(rule: Rule) -> Result:
    message = "the check itself failed: ZeroDivisionError: division by zero"
    return Result(rule, Finding(subject=CLUSTER, outcome=Outcome.ERROR, message=message))


def not_evaluated(rule: Rule, reason: str, how_to_get: str) -> RuleVerdict:
    return RuleVerdict(rule, Outcome.NOT_EVALUATED, {}, reason, how_to_get)


LOG_RULE = rule("JSD811", "slow-consumer-disconnected")


def logged(file: str = "logs/n1.log", line: int = 4711, text: str = "[7] Slow Consumer Detected") -> Result:
    """A finding whose evidence is a line of a log, and a second line after it."""
    finding = Finding(
        subject=server("n1"),
        message="2 clients were disconnected because they read too slowly",
        measured=2,
        threshold=0,
        unit="count",
        evidence=(
            Observation(source=file, path=f"line {line}, byte 90210", value=text, at=STARTED),
            Observation(source=file, path=f"line {line + 9}, byte 91000", value=text, at=STARTED),
        ),
    )
    return Result(LOG_RULE, finding)


def cases() -> dict[str, Report]:
    """What a report can be of, one thing each: the rows of the golden files of every format."""
    gap, gap_finding = silent_gap("PAYMENTS")
    return {
        "clean": clean(),
        "findings": report(
            results=[
                *(stuck(consumer(f"worker-{n}")) for n in range(7)),
                logged(),
                skewed(),
                nearly_full(),
                open_server(),
            ],
            verdicts=passed(REPLICAS),
        ),
        "gap": report(results=[gap_finding], gaps=[gap], verdicts=passed(REPLICAS)),
        "undecided": report(
            results=[
                undecided(LAG, consumer("audit"), "its stream has no leader", "wait for an election and run again")
            ],
            verdicts=[
                *passed(REPLICAS),
                not_evaluated(GROWING, "one snapshot shows no change over time", "leave --samples at 2 or more"),
            ],
            gaps=[
                Gap("endpoint", CLUSTER, "no packet capture was given", "jsdoctor check --pcap FILE", requested=False)
            ],
        ),
        "crash": report(results=[crashed(MIRROR)], verdicts=passed(REPLICAS)),
        "suppressed": report(
            results=[
                replace(
                    stuck(consumer("billing")),
                    suppressed=Suppression("waiver", "the billing team rebuilds it, OPS-4711", date(2025, 6, 30)),
                ),
                replace(logged(), suppressed=Suppression("baseline", "accepted in jsdoctor-baseline.json")),
                nearly_full(),
            ],
            verdicts=passed(REPLICAS),
        ),
        "existing": report(
            results=[
                nearly_full(),
                replace(stuck(consumer("billing")), suppressed=Suppression(EXISTING, "was there before the change")),
            ],
            verdicts=passed(REPLICAS),
        ),
    }


def busy() -> Report:
    """A bad night: something in every section."""
    gap, gap_finding = silent_gap("PAYMENTS")
    other_gap, other_finding = silent_gap("REFUNDS")
    one_sample = ("one snapshot shows no change over time", "leave --samples at 2 or more")
    return report(
        results=[
            *(stuck(consumer(f"worker-{number}")) for number in range(7)),
            stuck(consumer("billing", stream="INVOICES"), severity=Severity.WARNING),
            open_server(),
            skewed(),
            nearly_full(),
            no_meta_leader(),
            gap_finding,
            other_finding,
            crashed(MIRROR),
            undecided(LAG, consumer("audit"), "its stream has no leader", "wait for an election and run again"),
        ],
        gaps=[
            gap,
            other_gap,
            Gap("endpoint", CLUSTER, "no packet capture was given", "jsdoctor check --pcap FILE", requested=False),
        ],
        verdicts=[*passed(REPLICAS, HEALTH), not_evaluated(GROWING, *one_sample), not_evaluated(PROGRESS, *one_sample)],
    )


def clean() -> Report:
    return report(verdicts=passed(ACK_PENDING, NEAR_LIMIT, REPLICAS, META))


def flood(number: int = 10_000) -> Report:
    """One rule that fails nearly everywhere."""
    return report(results=[stuck(consumer(f"c{n:05d}", stream=f"S{n % 10}")) for n in range(number)])


NASTY = "a\x1b[31m\x07\nb[bold red]c[/]\u202egpj.exe\u2066\x9b2J\u00a0d"
"""Escape sequences, a bell, a line break, rich markup, bidirectional overrides, a C1 control and a false space."""


def hostile() -> Report:
    """A server that wants to take over the terminal of whoever reads about it."""
    nasty = Finding(
        subject=Subject(kind="consumer", name=NASTY, account=NASTY, stream=NASTY),
        message=f"said {NASTY}",
        measured=NASTY,
        threshold=float("nan"),
        unit=NASTY,
        evidence=(Observation(source=NASTY, path=NASTY, value={NASTY: [NASTY, float("inf"), "\ud800"]}),),
    )
    offer = Offer(
        "consumer.raise_max_ack_pending", "safe", (f"nats consumer info '{NASTY}'", "nats consumer info [b]c[/b]")
    )
    gap = Gap("stream", stream(NASTY), NASTY, NASTY)
    return report(
        results=[Result(ACK_PENDING, nasty, offer), undecided(LAG, stream(NASTY), NASTY, NASTY)],
        gaps=[gap],
        verdicts=[not_evaluated(GROWING, NASTY, NASTY)],
        headline=NASTY,
    )

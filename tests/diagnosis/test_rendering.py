"""A differential as a person and as a machine reads it."""

import json
from datetime import UTC, datetime

from jsdoctor.engine.recognition import Recognition
from jsdoctor.model.diagnosis import Narrowing
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.probe import Probe
from jsdoctor.render.diagnosis import Consultation, render_diagnosis
from jsdoctor.render.diagnosis_json import render_diagnosis_json
from jsdoctor.render.options import RenderOptions
from tests.cli.test_diagnose import VALIDATOR
from tests.diagnosis.book import book
from tests.diagnosis.differential import STALLED, differential
from tests.support.evidence import evidence_of

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


BILLING = Narrowing(stream="ORDERS", consumer="billing")


def consultation(narrowing: Narrowing = Narrowing(), **more: object) -> Consultation:  # noqa: B008 - frozen
    diagnosis = differential("consumer-stalled", evidence_of(STALLED), narrowing)
    settings: dict[str, object] = {
        "version": "1.0",
        "started": NOON,
        "finished": NOON,
        "offline": False,
        "text": "consumer is stalled",
        "recognition": Recognition(diagnosis.question.symptom, "the words"),
        "diagnosis": diagnosis,
        "book": book(),
    }
    return Consultation(**{**settings, **more})  # type: ignore[arg-type]


def text(shown: Consultation, **options: object) -> str:
    return render_diagnosis(shown, RenderOptions(**options))  # type: ignore[arg-type]


def test_what_is_confirmed_comes_first_with_its_fix() -> None:
    shown = text(consultation(BILLING), width=100, verbose=1)
    confirmed, ruled_out = shown.index("confirmed  JSD403"), shown.index("ruled out  JSD405")
    assert confirmed < ruled_out
    assert "Do first: Restart the workers" in shown[confirmed:ruled_out]
    assert "--max-pending" not in shown
    assert "jsdoctor explain JSD403" in shown[confirmed:ruled_out]
    causes = number_of_causes("consumer-stalled")
    assert f"{causes} causes: 1 confirmed, {causes - 1} ruled out." in shown
    assert "Next: fix JSD403, then run this again." in shown
    assert "maintainers" not in shown
    short = text(consultation(BILLING), width=100)
    assert short.startswith(f"A consumer gets nothing, or falls behind: JSD403 is confirmed, {causes - 1} ruled out.")
    assert "confirmed JSD403 " in short
    assert "Do first: Restart the workers" in short
    assert "JSD405" not in short, "what is ruled out is counted"
    assert len(short.split()) < 120


def test_without_a_confirmed_cause_it_lists_what_maintainers_request() -> None:
    narrowed = consultation(Narrowing(stream="NOWHERE"))
    short = text(narrowed)
    assert "Note: no stream NOWHERE was seen" in short
    assert "no cause is confirmed, 17 undecided" in short
    assert "JSD403" in short.partition("To decide the rest")[2]
    assert len(short.split()) < 200
    shown = text(narrowed, verbose=1)
    assert "Note: no stream NOWHERE was seen" in shown
    assert "undecided  JSD403" in shown
    assert "jsdoctor capture -o FILE.zip" in shown


def number_of_causes(slug: str) -> int:
    return next(len(symptom.causes) for symptom in book().symptoms if symptom.slug == slug)


def test_one_line_for_each_cause_when_quiet() -> None:
    lines = text(consultation(), quiet=True).splitlines()
    assert len(lines) == number_of_causes("consumer-stalled")
    assert sum(line.startswith("confirmed JSD403") for line in lines) == 1


def test_what_servers_report_cannot_move_the_cursor() -> None:
    gap = Gap("server", CLUSTER, "\x1b[2Jgone\u202e", "look")
    probe = Probe(subject="a\x1bb", stream="S", error="no\x07")
    shown = text(consultation(gaps=(gap,), probe=probe), ascii_only=True)
    assert shown.isascii()
    assert not set(shown) - {"\n"} - set(map(chr, range(32, 127)))


def test_a_machine_gets_all_of_it() -> None:
    probe = Probe(subject="orders", servers=(("n1", "2.15.1"),), refused="too old", how_to_get="upgrade")
    document = json.loads(render_diagnosis_json(consultation(BILLING, probe=probe), RenderOptions()))
    VALIDATOR.validate(document)
    confirmed = [cause for cause in document["causes"] if cause["verdict"] == "confirmed"]
    assert [cause["code"] for cause in confirmed] == ["JSD403"]
    assert confirmed[0]["evidence"]
    assert confirmed[0]["findings"][0]["remedy"]["commands"]
    assert document["probe"]["refused"] == "too old"
    assert document["next_step"] is None

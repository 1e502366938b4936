"""Reports of people, with a title, prose, code and logs, are read by their prose; what programs wrote is not."""

import pytest

from jsdoctor.app.diagnose.given import problem_lines_of
from jsdoctor.engine.passages import passages
from tests.diagnosis.book import recogniser

LOG = """[7] 2026/11/21 10:00:00.000000 [INF] Starting nats-server
[7] 2026/11/21 10:00:00.000000 [INF]   Version:  2.12.8
[7] 2026/11/21 10:00:00.000000 [INF] Server is ready"""
REPORT = f"""Object store reads hang forever since Monday

### Environment

Three servers in one zone.

```go
bucket.Get("the stream is stuck and the leader was lost")
```

{LOG}

    Name: stream-a
    Replicas: 3

We read some hundred objects a minute.
The others of them are fine.
"""


@pytest.mark.parametrize(
    "text",
    [
        LOG + "\n" + LOG,
        "the stream\n" * 7 + "is stuck",
        f"$ kubectl logs nats-0 -c nats\n\n{LOG}\n" * 3,
        "panic: the consumer of a stream is stuck\n\ngoroutine 1 [running]:\nmain.main()\n" * 5,
        "Nov 21 10:00:00 h app: the consumer of the stream is stuck\n\n" * 8,
        "nats-0  | the consumer of the stream is stuck\n\n" * 12,
        'time="2026-11-21" level=error msg="the consumer of the stream is stuck"\n\n' * 10,
        "stream:\n  name: a\n  replicas: 3\n\nconsumer:\n  name: b\n  durable: c\n\nserver:\n  name: d\n",
    ],
)
def test_what_programs_wrote_is_no_prose(text: str) -> None:
    assert passages(text) == []


SENTENCE = "We have used it for a year with the same settings."


def test_a_report_is_read_up_to_its_eighth_passage_and_a_long_one_is_cut() -> None:
    read = passages(f"{SENTENCE}\n\n" * 9 + "We have used it. " * 45)
    assert [text for text, _ in read] == [SENTENCE] * 8
    [first, second] = passages(SENTENCE + "\n\n" + "We have used it. " * 45)
    assert (first, len(second[0])) == ((SENTENCE, 1.0), 700)


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("KV watch stops after the reconnect", "key-or-object-missing"),
        ("The mirror of our stream lags since the upgrade", "mirror-stalled"),
        ("The leaf node does not connect to the hub", "links-down"),
        ("NATS metrics of consumers are missing in Grafana", "evidence-incomplete"),
        ("The pull consumer connects but fails to receive anything", "consumer-stalled"),
        ("Messages multiply when the publisher retries", "duplicate-messages"),
    ],
)
def test_the_title_of_a_report_leads_to_a_symptom(title: str, slug: str) -> None:
    body = "We have used it for a year with the same settings. " * 20
    recognition = recogniser().text(f"{title}\n\n## Details\n\n{body}\n\n{LOG}\n")
    symptoms = [recognition.symptom, *(reading.symptom for reading in recognition.also)]
    assert slug in [symptom.slug for symptom in symptoms if symptom]


def test_the_prose_above_a_pasted_log_is_kept() -> None:
    kept = problem_lines_of([f"{REPORT}\n[7] 2026/11/21 10:00:01.000000 [ERR] something failed\n"])
    assert kept.startswith("Object store reads hang forever since Monday\n\nThree servers in one zone.\n\n")
    assert "\n\n[7] 2026/11/21 10:00:01.000000 [ERR] something failed\n" in kept
    recognition = recogniser().text(kept)
    assert recognition.symptom is not None
    assert recognition.symptom.slug == "key-or-object-missing"


@pytest.mark.parametrize(
    "text",
    [
        # long texts about other systems, and about nothing that is wrong
        "The door is stuck and the key was lost\n\n" + "We have waited for the locksmith since Monday. " * 20,
        "Release notes of our shop\n\n" + "The page of an order shows its items in a list. " * 20,
        "Kafka consumers are stuck after a rebalance\n\n" + "The group has twelve members on four machines. " * 20,
    ],
)
def test_long_texts_about_other_things_lead_nowhere(text: str) -> None:
    assert recogniser().text(text).symptom is None


def test_a_quoted_name_is_read_as_words() -> None:
    recognition = recogniser().text("the worker of our NATS pipeline ends with `MissingHeartbeat` each night")
    assert recognition.symptom is not None
    assert recognition.symptom.slug == "consumer-missing"

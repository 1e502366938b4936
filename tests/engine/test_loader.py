"""Rule pages and symptom pages that do not fit together are refused, each mistake with its page and what was meant."""

import pytest

from jsdoctor.engine.loader import PageText, load_rules
from jsdoctor.engine.symptoms import load_symptoms
from jsdoctor.pages.front_matter import PageError
from jsdoctor.sources.rule_pages import api_errors, shipped_pages, symptom_pages, vocabulary
from tests.diagnosis.book import book
from tests.support.ruleset import actions, checks, rules

SHIPPED = {page.origin.rpartition("/")[2]: page for page in shipped_pages()}
UNBOUNDED = SHIPPED["JSD601.md"]
QUORUM = SHIPPED["JSD702.md"]


def page(name: str, *changes: tuple[str, str], like: PageText = UNBOUNDED, shipped: bool = True) -> PageText:
    text = like.text
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    return PageText(name, like.failure_mode, text, shipped)


def problems(*pages: PageText) -> list[str]:
    with pytest.raises(PageError) as raised:
        load_rules(pages, checks(), frozenset(actions()))
    return list(raised.value.problems)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (
            page("a/JSD601.md", ('"stream_limits.unbounded",', '"stream_limits.unbouned",')),
            "a/JSD601.md:1: no check is named 'stream_limits.unbouned'; did you mean 'stream_limits.unbounded'?",
        ),
        (
            page("a/JSD601.md", ('"stream.bound"', '"stream.bond"')),
            "a/JSD601.md:1: no remedy action is named 'stream.bond'; did you mean 'stream.bound'?",
        ),
        (page("a\\b\\unbounded.md"), "a\\b\\unbounded.md:1: a rule page is named after its code: JSD601.md"),
        (
            page("a/JSD601.md", shipped=False),
            "a/JSD601.md:1: the prefix JSD is reserved; give JSD601 a prefix of your own",
        ),
    ],
)
def test_a_page_that_names_what_is_not_there(wrong: PageText, problem: str) -> None:
    assert problems(wrong) == [problem]


def test_pages_of_users_have_a_prefix_of_their_own() -> None:
    for name in ("OWN601.md", "own/OWN601.md", "C:\\rules\\OWN601.md"):
        own = page(name, ('"JSD601"', '"OWN601"'), shipped=False)
        (rule,) = load_rules([own], checks(), frozenset(actions()))
        assert (rule.code, rule.origin) == ("OWN601", name)


def test_codes_and_slugs_are_unique() -> None:
    again = page("b/JSD601.md", ('"stream-unbounded"', '"another"'))
    assert problems(UNBOUNDED, again) == [f"b/JSD601.md:1: JSD601 'another' is already taken by {UNBOUNDED.origin}"]
    slug = page("b/JSD699.md", ('"JSD601"', '"JSD699"'))
    assert problems(UNBOUNDED, slug) == [
        f"b/JSD699.md:1: JSD699 'stream-unbounded' is already taken by {UNBOUNDED.origin}"
    ]


def test_the_mistakes_of_all_pages_come_together() -> None:
    torn = PageText("a/torn.md", "stream_limits", "+++\n")
    assert [line.partition(":")[0] for line in problems(torn, page("a/other.md"))] == ["a/torn.md", "a/other.md"]


def test_signatures_are_unique_and_name_those_that_resolve_them() -> None:
    name = next(signature.name for rule in rules() if rule.code == "JSD702" for signature in rule.signatures)
    other = page("b/JSD799.md", ('"JSD702"', '"JSD799"'), ('slug = "', 'slug = "other-'), like=QUORUM)
    reported = [line for line in problems(*SHIPPED.values(), other) if "signature" in line]
    assert reported[0] == f"b/JSD799.md:1: signature {name!r} is already taken by {QUORUM.origin}"


def book_problems(*pages: PageText) -> list[str]:
    with pytest.raises(PageError) as raised:
        load_symptoms(pages, api_errors(), vocabulary(), rules())
    return list(raised.value.problems)


def test_symptom_pages_are_named_after_their_slugs_and_unique() -> None:
    pages = list(symptom_pages())
    moved = PageText(pages[0].origin.replace(".md", "-b.md"), pages[0].failure_mode, pages[0].text)
    slug = pages[0].origin.rpartition("/")[2].removesuffix(".md")
    reported = book_problems(*pages, moved)
    assert f"{moved.origin}:1: a symptom page is named after its slug: {slug}.md" in reported
    assert f"{moved.origin}:1: {slug} is already taken by {pages[0].origin}" in reported
    assert {line.partition(":")[0] for line in reported} == {moved.origin}


def test_the_mistakes_of_symptom_pages_and_of_the_vocabulary_come_together() -> None:
    torn, words = PageText("symptoms/torn.md", "symptoms", "+++\n"), PageText("words.toml", "symptoms", "[complaints")
    with pytest.raises(PageError) as raised:
        load_symptoms([torn], b"[]", words, rules())
    assert [line.partition(":")[0] for line in raised.value.problems] == ["symptoms/torn.md", "words.toml"]


def test_a_signature_is_resolved_by_one_that_is_there() -> None:
    origin = next(name for name, page in SHIPPED.items() if "resolved_by" in page.text)
    shipped = SHIPPED[origin]
    named = next(
        other
        for rule in rules()
        if f"{rule.code}.md" == origin
        for signature in rule.signatures
        for other in signature.resolved_by
        if f'"{other}"' in shipped.text
    )
    wrong = page(shipped.origin, (f'"{named}"', f'"{named}x"'), like=shipped)
    others = [page for name, page in SHIPPED.items() if name != origin]
    reported = [line for line in problems(*others, wrong) if "no signature is named" in line]
    assert len(reported) == 1
    assert f"no signature is named '{named}x'" in reported[0]
    assert reported[0].startswith(f"{shipped.origin}:1: signature '")


def test_a_vocabulary_leads_to_symptoms_that_are_there() -> None:
    topic = next(topic for topic in book().vocabulary.topics if topic.leads)
    slug = next(slug for leads in topic.leads.values() for slug in leads)
    reported = book_problems(*(page for page in symptom_pages() if not page.origin.endswith(f"/{slug}.md")))
    assert all(slug in line for line in reported)
    assert any(
        line.startswith(f"{vocabulary().origin}:1: topic {topic.name!r}: no symptom is named") for line in reported
    )

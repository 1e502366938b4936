"""The rule page and the catalogue as a reader gets them."""

import re
from collections.abc import Sequence

import pytest
from rich.cells import cell_len

from jsdoctor.cli.watch.run import page_rendered
from jsdoctor.model.finding import Severity
from jsdoctor.model.rule import Param, RemedyRef, Risk, Rule, RuleStatus, Unit
from jsdoctor.render.explain import page_markdown
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.rule_list import rules_text
from tests.render.golden import assert_golden
from tests.render.reports import ACK_PENDING, AUTH, META

COMMAND = "nats consumer edit ORDERS billing --max-pending=2000 --ack-policy=explicit --description='more workers' -f"
RULE = Rule(
    code="JSD410",
    slug="consumer-ack-wait-too-short",
    title="Every consumer waits long enough for an acknowledgement",
    checks=("consumer_lag.ack_wait_too_short",),
    severity=Severity.WARNING,
    status=RuleStatus.PREVIEW,
    failure_mode="consumer_lag",
    params={
        "min_ack_wait": Param("min_ack_wait", Unit.DURATION, "Below this, work is cut short", 90_000_000_000),
        "max_share": Param("max_share", Unit.RATIO, "Share of messages", 0.8),
        "horizon": Param("horizon", Unit.DURATION, "How long publishers retry"),
    },
    remedy=RemedyRef("consumer.raise_ack_wait", Risk.SAFE),
    body=f"""
## What it detects

An `ack_wait` below the time that *work* takes. See [the server](https://example.org/consumer.go).

| before | after |
|---|---|
| 1s | 30s |

## Fix

```sh
{COMMAND}
```
""",
)
RULES: Sequence[Rule] = (RULE, META, ACK_PENDING, AUTH)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_page_on_a_terminal(width: int) -> None:
    written = page_rendered(RULE, RenderOptions(width=width))
    assert_golden(f"page-{width}.txt", written)
    assert f"    {COMMAND}\n" in written
    assert "\x1b" not in written
    assert all(cell_len(line) <= width for line in written.splitlines() if COMMAND not in line)


def test_page_in_colour_has_the_same_words_and_no_links() -> None:
    coloured = page_rendered(RULE, RenderOptions(color=True))
    assert "\x1b[1m" in coloured
    assert "\x1b]8" not in coloured
    words = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert words.split() == page_rendered(RULE, RenderOptions()).split()


def test_page_for_a_pipe_is_markdown() -> None:
    written = page_markdown(RULE, RenderOptions())
    assert_golden("page.md", written)
    assert written.startswith("# JSD410 consumer-ack-wait-too-short\n")
    assert "- `min_ack_wait` = 1m30s: Below this, work is cut short\n" in written
    assert "- `horizon` = not set: How long publishers retry\n" in written
    assert RULE.body.strip() in written


def test_pages_can_be_ascii_and_are_harmless() -> None:
    nasty = Rule(
        code="ACME100", slug="x", title="ü", checks=("x.y",), severity=Severity.INFO, body="a\x1b[2Jb\u202e • c\n\nd"
    )
    for render in (page_markdown, page_rendered):
        written = render(nasty, RenderOptions(ascii_only=True))
        assert written.isascii()
        assert r"a\x1b[2Jb\u202e" in written
        assert all(character.isprintable() or character == "\n" for character in written)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_list_is_one_line_per_rule(width: int) -> None:
    written = rules_text(RULES, RenderOptions(width=width))
    assert_golden(f"rules-{width}.txt", written)
    lines = written.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["JSD403", "JSD410", "JSD701", "JSD810"]
    assert all(rule.slug in line for rule, line in zip(sorted(RULES, key=lambda rule: rule.code), lines, strict=False))
    assert all(cell_len(line) <= width for line in lines)

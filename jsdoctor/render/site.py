"""Addresses of pages on the documentation site (`make site`), below the address that `docs-url` sets."""

from __future__ import annotations

from jsdoctor.model.rule import RESERVED_PREFIX


def rule_url(base: str, code: str) -> str:
    """The page of a rule; empty without a base, and for rules that are not shipped, which the site does not have."""
    return f"{base.rstrip('/')}/rules/{code}/" if base and code.startswith(RESERVED_PREFIX) else ""


def symptom_url(base: str, slug: str) -> str:
    """The page of a symptom; empty without a base."""
    return f"{base.rstrip('/')}/symptoms/{slug}/" if base else ""

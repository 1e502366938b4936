"""A rule page drawn on a terminal."""

from __future__ import annotations

from jsdoctor.model.rule import Rule
from jsdoctor.render.drawn import drawn
from jsdoctor.render.explain import page_markdown
from jsdoctor.render.options import RenderOptions


def page_rendered(rule: Rule, options: RenderOptions) -> str:
    """A page drawn for a terminal of that width. Links show their address; nothing is clickable."""
    return drawn(page_markdown(rule, options), options)

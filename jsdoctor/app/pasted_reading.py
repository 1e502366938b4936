"""Reads pasted or saved replies and command output."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.app.evidence import Gathered
from jsdoctor.app.evidence_request import PastedText
from jsdoctor.model.report import Source
from jsdoctor.parse.file_kinds import pasted_replies
from jsdoctor.parse.pasted.sample import Pasted, pasted_sample


def gather_pasted(texts: Sequence[PastedText]) -> tuple[Gathered, Pasted]:
    """Combine all texts into one sample of one deployment."""
    replies = [reply for text in texts for reply in pasted_replies(text.text, text.at)]
    at = max(text.at for text in texts)
    pasted = pasted_sample(replies, at)
    sources = tuple(Source("pasted", text.name, text.at) for text in texts)
    return Gathered((pasted.sample,), sources, captured_at=at), pasted

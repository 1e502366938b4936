"""Replies and output of commands that were pasted or saved, as the deployment that is judged."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.pasted.sample import pasted_sample
from jsdoctor.sources.base import Collection, Need, Reading, Role, Run, Source
from jsdoctor.sources.file_kinds import pasted_replies
from jsdoctor.sources.request import PastedText


@dataclass(frozen=True, slots=True)
class PastedReplies(Source):
    """All texts with replies, which describe one deployment."""

    texts: tuple[PastedText, ...]
    alone = "a file judges what was captured and connects to nothing"
    role = Role.DEPLOYMENT

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the texts."""
        return tuple(text.name for text in self.texts)

    def read(self, need: Need, run: Run, collection: Collection) -> AbstractContextManager[Reading]:
        """One sample of one deployment, and the fields that it does not show."""
        del need, run, collection
        replies = [reply for text in self.texts for reply in pasted_replies(text.text, text.at)]
        at = max(text.at for text in self.texts)
        pasted = pasted_sample(replies, at)
        origin = tuple(EvidenceOrigin("pasted", text.name, text.at) for text in self.texts)
        return nullcontext(Reading(samples=(pasted.sample,), unseen=pasted, origin=origin, captured_at=at))

"""Files that were given and are no kind of evidence."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.sources.base import Collection, Need, Reading, Run, Source
from jsdoctor.sources.request import UnreadableFile

_INPUTS_HINT = (
    "jsdoctor check reads bundles, archives of nats audit gather, logs, packet captures, manifests, replies of servers"
    " in JSON and output of the nats command; for the text of an error: jsdoctor diagnose FILE"
)


@dataclass(frozen=True, slots=True)
class UnrecognisedFiles(Source):
    """Files that were named, so the run is inconclusive."""

    files: tuple[UnreadableFile, ...]

    @property
    def options(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(file.name for file in self.files)

    def read(self, need: Need, run: Run, collection: Collection) -> AbstractContextManager[Reading]:
        """A gap for each."""
        del need, run, collection
        return nullcontext(Reading(gaps=unrecognised_gaps(self.files)))


def unrecognised_gaps(files: Iterable[UnreadableFile]) -> tuple[Gap, ...]:
    """A requested gap for each file that is no evidence."""
    return tuple(
        Gap(
            kind="input",
            subject=Subject(kind="file", name=file.name),
            reason="not recognised" + (f": {file.why}" if file.why else ""),
            how_to_get=_INPUTS_HINT,
        )
        for file in files
    )

"""Known defects of nats-server versions: which versions have them, and which deployments they can hit."""

from __future__ import annotations

from typing import Literal

import msgspec

from jsdoctor.model.evidence import Evidence, not_offered

Harm = Literal["data", "service", "cost"]
"""Messages are lost, come back or differ; something stops; it costs resources or shows wrong figures. Worst first."""


class Affected(msgspec.Struct, frozen=True):
    """A range of versions of one branch, both ends included, and the first version without the defect.

    That is a version of a later branch where no release of this one has the fix.
    """

    first: str
    last: str
    fixed_in: str


class Defect(msgspec.Struct, frozen=True):
    """One defect. `uses` names the condition of a deployment that can be hit (`known_defects` checks have them)."""

    id: str
    harm: Harm
    uses: str
    what: str
    source: str
    affected: tuple[Affected, ...]


class KnownDefects(Evidence, frozen=True):
    """The defects that jsdoctor ships (`rules/defects.toml`)."""

    unavailable = not_offered("the list of known defects was not read", "run jsdoctor check", kind="configuration")

    defects: tuple[Defect, ...]

"""An incident in one line: what is wrong, how much follows from it, and what to type first."""

from __future__ import annotations

from jsdoctor.model.report import Incident
from jsdoctor.model.rule import Impact
from jsdoctor.model.wording import counted
from jsdoctor.render.wording import listed

_NAMES_SHOWN = 3

IMPACT_WORDS = {
    Impact.DATA_LOST: "data lost",
    Impact.PUBLISHERS_REFUSED: "publishers refused",
    Impact.CONSUMERS_NOT_SERVED: "consumers not served",
    Impact.REDUNDANCY_LOST: "redundancy lost",
    Impact.RISK: "risk",
    Impact.HYGIENE: "hygiene",
}


def summary(incident: Incident) -> str:
    """`JSD703 n3: n3 has not been heard for 31 s … (and 12 consequences)`."""
    cause = incident.causes[0]
    names = listed((result.finding.subject.label for result in incident.causes), _NAMES_SHOWN)
    following = len(incident.consequences)
    more = f" ({counted(following, 'consequence')})" if following else ""
    return f"{cause.rule.code} {names}{more}: {cause.finding.message or cause.rule.title}"


def first_command(incident: Incident) -> str:
    """The first command of the cause's remedy, else the page of its rule."""
    cause = incident.causes[0]
    commands = cause.remedy.commands if cause.remedy else ()
    return commands[0] if commands else f"jsdoctor explain {cause.rule.code}"

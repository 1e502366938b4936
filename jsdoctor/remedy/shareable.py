"""Plans as they may be shown and shared."""

from __future__ import annotations

import msgspec

from jsdoctor.model.plan import Plan, Request, Step
from jsdoctor.parse.raw_configs import withheld
from jsdoctor.parse.scrubbed import scrubbed


def shareable(plan: Plan) -> Plan:
    """The plan without texts of users in its configurations. It can be carried out as before: no step sends those."""
    return scrubbed(msgspec.structs.replace(plan, steps=tuple(map(_step, plan.steps))))


def _step(step: Step) -> Step:
    return msgspec.structs.replace(
        step,
        base=withheld(step.base),
        values=withheld(step.values),
        requests=tuple(map(_request, step.requests)),
        undo=tuple(map(_request, step.undo)),
    )


def _request(request: Request) -> Request:
    return msgspec.structs.replace(request, payload=withheld(request.payload))

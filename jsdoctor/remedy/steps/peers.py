"""Steps that take a server out of the meta group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command, plans
from jsdoctor.remedy.planning import CannotPlanError, Target, number

_SILENT_S = 600
_HEALTHY = Precondition("rest_is_healthy", "all other members of the meta group have caught up")


@action("server.remove_peer", Risk.MANUAL)
def _remove_peer(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """With a login of the system account."""
    del values
    return (command("nats", "server", "cluster", "peer-remove", subject.name, "-f"),)


@plans("server.remove_peer")
def remove_peer(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Values: `silent_s`, for how long nobody must have heard it (ten minutes); 0: it is known to be gone.

    Never for a server that may return.
    """
    name = target.subject.name
    if target.subject.kind != "server":
        raise CannotPlanError("it is for a server that is gone")
    if " " in name or not name:
        raise CannotPlanError("no server knows its name any more: nats server cluster peer-remove takes its id")
    silent_s = number(values, "silent_s") if "silent_s" in values else _SILENT_S
    gone = Precondition(
        "peer_is_gone",
        f"{name} answers nobody, and was not heard by the meta leader" + (f" for {silent_s} s" if silent_s else ""),
        silent_s,
    )
    step = Step(
        action="server.remove_peer",
        operation="server.remove_peer",
        subject=target.subject,
        risk=Risk.DESTRUCTIVE,
        effect=(
            f"{name} is no member any more: its replicas go to other servers where there are any, what it alone"
            " held is given up, and if it returns with its old store its JetStream is disabled"
        ),
        preconditions=(gone, _HEALTHY),
        requests=(Request("SERVER.REMOVE", {"peer": name}),),
        patience_s=60,
    )
    return (step,)

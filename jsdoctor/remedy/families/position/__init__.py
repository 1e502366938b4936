"""Where a consumer stands in its stream: reset by the server (2.14+), or created again at another place."""

from __future__ import annotations

from jsdoctor.model.rule import Risk
from jsdoctor.remedy.families.position import recreate, reset
from jsdoctor.remedy.families.position.place import no_push_client
from jsdoctor.remedy.family import Action, Family

FAMILY = Family(
    "position",
    actions=(
        Action("consumer.reset", Risk.MANUAL, reset.commands, reset.plan),
        Action("consumer.recreate", Risk.MANUAL, recreate.commands, recreate.plan),
    ),
    operations=(reset.Reset(), recreate.Recreate()),
    judges={"no_push_client": no_push_client},
)

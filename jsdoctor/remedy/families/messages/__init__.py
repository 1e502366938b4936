"""Single messages: deleting those that hold up expiry, and keeping those that a consumer gave up."""

from __future__ import annotations

from jsdoctor.model.rule import Risk
from jsdoctor.remedy.families.messages import dead_letters, head
from jsdoctor.remedy.family import Action, Family

FAMILY = Family(
    "messages",
    actions=(
        Action("stream.delete_first_message", Risk.DESTRUCTIVE, head.commands, head.plan),
        Action("consumer.keep_dead_letters", Risk.MANUAL, dead_letters.commands, dead_letters.plan),
    ),
    operations=(head.DeleteHead(), dead_letters.DeadLetters()),
    judges={"last_is_past": head.last_is_past},
)

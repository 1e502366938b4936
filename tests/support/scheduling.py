"""Which tests run on one worker: those of a module, and those of a rule across the modules that read its cases."""

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.support.rule_groups import rule_of


class RuleScheduling(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """As `--dist loadfile`, but the tests of each rule are a group of their own.

    Modules that are parametrised by rule read the same cases: in one process each case is read once, and no worker is
    left with one long module at the end.
    """

    def _split_scope(self, nodeid: str) -> str:
        return rule_of(nodeid) or super()._split_scope(nodeid)


def scheduling(config: pytest.Config, log: object) -> RuleScheduling | None:
    """The scheduler of `--dist loadfile`; None for another."""
    return RuleScheduling(config, log) if config.getvalue("dist") == "loadfile" else None

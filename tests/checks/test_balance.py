"""How unevenly a cluster may be loaded by chance: of 48 placements on four servers one may have 12 and four times 3."""

from __future__ import annotations

from jsdoctor.checks.cluster_health.balance import Spread


def test_what_drawing_lots_explains() -> None:
    assert not Spread({"n1": 24, "n2": 8, "n3": 8, "n4": 8}).exceeds_chance("n1")
    assert Spread({"n1": 25, "n2": 8, "n3": 8, "n4": 7}).exceeds_chance("n1")


def test_of_servers_that_have_as_much_the_first_by_name_is_the_heaviest() -> None:
    assert Spread({"n2": 3, "n1": 3, "n3": 1}).heaviest() == "n1"

"""docs/architecture.md is what the code is: packages, imports, and walks whose hops are called."""

from __future__ import annotations

import pytest

from tools.architecture_page import LAYERS, PACKAGE, PLACE, PURPOSES, WALKS, Walk, imports, page, walk_problems
from tools.call_walks import figures


def test_the_page_is_current() -> None:
    assert PLACE.read_text("utf-8") == page(), "run python -m tools.architecture_page"


def test_every_package_is_in_the_picture() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages == PURPOSES.keys() == {name for layer in LAYERS for name in layer}


def test_imports_go_down() -> None:
    depth = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    assert [(importer, imported) for importer, imported in imports() if depth[importer] >= depth[imported]] == []


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.title)
def test_each_hop_calls_the_next(walk: Walk) -> None:
    assert list(walk_problems(walk)) == []


def test_a_hop_that_is_not_called_is_found() -> None:
    wrong = Walk("wrong", "", ("remedy.plan:draft", "remedy.journal:require_locks", "remedy.plan:none"))
    assert list(walk_problems(wrong)) == [
        "wrong: the hop before remedy.journal:require_locks does not call it",
        "wrong: there is no remedy.plan:none",
    ]


def test_the_figures_of_a_walk() -> None:
    before = ["__main__:main", "app.a:run", "collect.b:read", "parse.c:parse"]
    after = ["__main__:main", "app.a:run", "engine.d:evaluate"]
    assert figures([before]) == (4, 4, 0)
    assert figures([before, after]) == (5, 5, 1)
    assert figures([after, [*after, "engine.d:judge"]]) == (4, 3, 0), "to go on in a function is no way back"

"""The index lists every check as its module declares it, and imports a module when its check is called."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from jsdoctor.checks import registry
from jsdoctor.checks.registry import Check, indexed_checks
from jsdoctor.model.finding import CLUSTER, Finding, passed
from tests.support.ruleset import checks
from tools.check_index import PATH, written

_LISTS = """
import sys
from jsdoctor.checks.registry import indexed_checks
known = indexed_checks()
print(len(known), [name for name in sys.modules if name.startswith("jsdoctor.checks.")])
"""

_CALLS = """
import sys
from jsdoctor.checks.registry import indexed_checks
from jsdoctor.model.suppression import Suppressions
module = "jsdoctor.checks.collection.suppression_stale"
late = indexed_checks()["collection.suppression_stale"]
print(module in sys.modules, list(late.predicate(suppressions=Suppressions())), module in sys.modules)
"""


def test_it_is_current() -> None:
    assert PATH.read_text("utf-8") == written(), "run: make check-index"


def test_it_says_what_the_modules_say(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = dict(checks())
    monkeypatch.setattr(registry, "_registry", {})
    for name, check in indexed_checks().items():
        assert (check.required, check.optional) == (loaded[name].required, loaded[name].optional)
        assert check.takes_params is loaded[name].takes_params
        assert list(check.required) == list(loaded[name].required)


def test_nothing_is_imported_to_list_them() -> None:
    done = subprocess.run([sys.executable, "-c", _LISTS], capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(checks())} ['jsdoctor.checks.index', 'jsdoctor.checks.registry']\n"


def test_a_module_is_imported_when_its_check_is_called() -> None:
    done = subprocess.run([sys.executable, "-c", _CALLS], capture_output=True, text=True, check=True)
    assert done.stdout == "False [] True\n"


def test_a_plugin_adds_to_them_and_takes_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def mine() -> Iterator[Finding]:
        yield passed(CLUSTER)

    monkeypatch.setattr(registry, "_registry", {"my.own": Check("my.own", mine, {}, {}, False)})
    assert indexed_checks()["my.own"].predicate is mine
    registry._registry["clock_skew.client_server"] = Check("clock_skew.client_server", mine, {}, {}, False)
    with pytest.raises(ValueError, match=r"^check 'clock_skew.client_server' is defined twice$"):
        indexed_checks()

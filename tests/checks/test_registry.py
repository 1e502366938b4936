"""What a signature declares as evidence, which signatures and names are refused, and that every module is loaded."""

import sys
from collections.abc import Iterator

import pytest

import jsdoctor.checks.server_health
from jsdoctor.checks import registry
from jsdoctor.checks.registry import Predicate, check, load_checks
from jsdoctor.model.evidence import Gaps
from jsdoctor.model.finding import CLUSTER, Finding, Subject, passed
from jsdoctor.model.manifest import DeclaredServers, FilePosition, Manifests, RunningConfigurations
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> dict[str, registry.Check]:
    """Checks of these tests only."""
    checks: dict[str, registry.Check] = {}
    monkeypatch.setattr(registry, "_registry", checks)
    return checks


def plain(gaps: Gaps) -> Iterator[Finding]:
    yield passed(CLUSTER)


def helped(gaps: Gaps, servers: Servers | None, params: Params) -> Iterator[Finding]:
    yield passed(CLUSTER)


def wants_a_text(text: str) -> Iterator[Finding]:
    yield passed(CLUSTER)


def wants_a_text_perhaps(text: str | None) -> Iterator[Finding]:
    yield passed(CLUSTER)


def wants_one_of_two(either: Gaps | Servers) -> Iterator[Finding]:
    yield passed(CLUSTER)


def test_what_a_signature_declares(registered: dict[str, registry.Check]) -> None:
    assert check("test.plain")(plain) is plain
    check("test.helped")(helped)
    assert registered["test.plain"] == registry.Check("test.plain", plain, {"gaps": Gaps}, {}, takes_params=False)
    assert registered["test.helped"] == registry.Check(
        "test.helped", helped, {"gaps": Gaps}, {"servers": Servers}, takes_params=True
    )
    assert registered["test.helped"].kinds == {Gaps, Servers}


def declared(manifests: Manifests) -> Iterator[Finding]:
    yield passed(Subject(kind="server", name=manifests.servers[0].name))


def test_a_check_of_manifests_judges_mounted_configurations_too(registered: dict[str, registry.Check]) -> None:
    check("test.unset_declared", also_mounted=True)(declared)
    mounted = registered["test.unset_mounted"]
    assert mounted.required == {"manifests": RunningConfigurations}
    single = DeclaredServers(what="Helm values", place=FilePosition("values.yaml"), settings={}, name="nats")
    (finding,) = mounted.predicate(manifests=RunningConfigurations(servers=(single,)))
    assert finding.subject.name == "nats"


@pytest.mark.parametrize(
    ("predicate", "problem"),
    [
        (wants_a_text, "check 'test.wrong': text is not a kind of evidence"),
        (wants_a_text_perhaps, "check 'test.wrong': text must be one kind of evidence, or that | None"),
        (wants_one_of_two, "check 'test.wrong': either must be one kind of evidence, or that | None"),
    ],
)
def test_a_check_may_only_request_evidence(predicate: Predicate, problem: str) -> None:
    with pytest.raises(TypeError) as raised:
        check("test.wrong")(predicate)
    assert str(raised.value) == problem


def test_a_name_belongs_to_one_module(registered: dict[str, registry.Check], monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is loaded again registers its checks again."""
    check("test.one")(plain)
    check("test.one")(helped)
    assert registered["test.one"].predicate is helped
    monkeypatch.setattr(plain, "__module__", "another.module")
    check("test.two")(plain)
    with pytest.raises(ValueError, match=r"^check 'test.one' is defined twice$"):
        check("test.one")(plain)


def test_every_module_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only one that was not imported before is imported now."""
    name = "jsdoctor.checks.server_health.cut_off"
    load_checks()
    monkeypatch.setattr(jsdoctor.checks.server_health, "cut_off", sys.modules[name])
    monkeypatch.delitem(sys.modules, name)
    registry._registry.clear()
    assert set(load_checks()) == {"server_health.cut_off"}

"""Objects of a real API server (fixtures/kubernetes, recorded from the laboratory of tests/kube) as facts."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.model.kubernetes import DisruptionBudget
from jsdoctor.parse.kubernetes import disruption_budgets, server_pods, volume_claims
from tests.evidence import FIXTURES

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "spec", "status", "containers", "image", "name", "labels", "selector", "volumes"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


def recorded(name: str) -> list[Any]:
    items: list[Any] = json.loads((FIXTURES / "kubernetes" / f"{name}.json").read_text())["items"]
    return items


def test_server_pods() -> None:
    pods = {pod.name: pod for pod in server_pods(recorded("pods"))}
    assert list(pods) == ["n1", "n2", "n3", "n4"]  # neither nats-box nor the exporters
    assert {pod.owner for pod in pods.values()} == {"nats"}
    assert (pods["n1"].container.ended, pods["n1"].container.exit_code, pods["n1"].container.restarts) == (
        "OOMKilled",
        137,
        3,
    )
    assert pods["n2"].container.waiting == "CrashLoopBackOff"
    assert pods["n3"].claims == ("nats-js-n3",)
    assert (pods["n4"].node, pods["n4"].unscheduled[:3], pods["n4"].monitor_port) == ("", "0/2", 8222)


def test_nothing_secret_is_kept() -> None:
    assert "hunter2secret" in (FIXTURES / "kubernetes" / "pods.json").read_text()
    assert b"hunter2secret" not in msgspec.json.encode(server_pods(recorded("pods")))


def test_claims_and_budgets() -> None:
    pods = server_pods(recorded("pods"))
    assert {claim.phase for claim in volume_claims(recorded("claims"), pods)} == {"Pending"}
    (budget,) = disruption_budgets(recorded("budgets"), recorded("pods"))
    assert (budget.pods, budget.min_available, budget.allowed_at_once()) == (("n1", "n2", "n3"), "60%", 1)


@pytest.mark.parametrize(
    ("labels", "selector", "fits"),
    [
        pytest.param({}, {}, True, id="an empty selector selects every pod"),
        pytest.param({"a": "1"}, {"matchLabels": {"a": "1"}}, True, id="equal"),
        pytest.param({"a": "2"}, {"matchLabels": {"a": "1"}}, False, id="other"),
        pytest.param(
            {"a": "1"}, {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, True, id="in"
        ),
        pytest.param(
            {"a": "1"}, {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False, id="not in"
        ),
        pytest.param({}, {"matchExpressions": [{"key": "a", "operator": "Exists"}]}, False, id="exists"),
        pytest.param({}, {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, True, id="does not exist"),
    ],
)
def test_selectors(labels: dict[str, str], selector: dict[str, Any], fits: bool) -> None:
    pod = {"metadata": {"name": "n1", "labels": labels}, "spec": {"containers": [{"image": "nats:2"}]}}
    budgets = disruption_budgets([{"metadata": {"name": "b"}, "spec": {"selector": selector}}], [pod])
    assert bool(budgets) == fits


@pytest.mark.parametrize(
    ("maximum", "minimum", "allowed"),
    [("1", "", 1), ("34%", "", 2), ("", "2", 1), ("", "100%", 0), ("", "9", 0), ("", "", None), ("some", "", None)],
)
def test_how_many_pods_may_go(maximum: str, minimum: str, allowed: int | None) -> None:
    budget = DisruptionBudget(name="b", pods=("n1", "n2", "n3"), max_unavailable=maximum, min_available=minimum)
    assert budget.allowed_at_once() == allowed


@pytest.mark.parametrize(
    ("image", "is_server"),
    [
        ("nats", True),
        ("nats:2.12-alpine", True),
        ("docker.io/library/nats@sha256:00", True),
        ("example.org:5000/nats-server:2.12", True),
        ("natsio/prometheus-nats-exporter:0.17", False),
        ("natsio/nats-box:0.18", False),
        ("natsio/nats-server-config-reloader:0.19", False),
        ("example.org/nats/app:1", False),
    ],
)
def test_images(image: str, is_server: bool) -> None:
    assert bool(server_pods([{"metadata": {"name": "n1"}, "spec": {"containers": [{"image": image}]}}])) == is_server


@given(st.lists(ANYTHING.filter(lambda one: isinstance(one, dict)), max_size=3))
def test_objects_of_any_shape(objects: list[Any]) -> None:
    pods = server_pods(objects)
    volume_claims(objects, pods)
    disruption_budgets(objects, objects)

"""Objects of a real API server (fixtures/kubernetes, recorded from the laboratory of tests/kube) as facts."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.manifests.kubernetes_containers import quantity_bytes
from jsdoctor.model.kubernetes import DisruptionBudget
from jsdoctor.replies.kubernetes import (
    disruption_budgets,
    object_warnings,
    server_pods,
    server_sets,
    set_sizes,
    storage_classes,
    volume_claims,
)
from jsdoctor.replies.kubernetes_configurations import read_configurations
from tests.support.evidence import FIXTURES

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("metadata", "spec", "status", "containers", "image", "name", "labels", "selector", "volumes"),
                    *(
                        "args",
                        "env",
                        "volumeMounts",
                        "lifecycle",
                        "livenessProbe",
                        "configMap",
                        "mountPath",
                        "template",
                    ),
                ]
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


@given(st.lists(ANYTHING.filter(lambda value: isinstance(value, dict)), max_size=3))
def test_objects_of_any_shape(objects: list[Any]) -> None:
    pods = server_pods(objects)
    volume_claims(objects, pods)
    object_warnings(objects, pods)
    storage_classes(objects)
    disruption_budgets(objects, objects)
    sizes = set_sizes(server_sets(objects, pods), pods)
    read_configurations(objects, sizes, lambda _: {"data": {"nats.conf": "port: 4222"}})


def test_why_a_pod_is_not_ready() -> None:
    condition = {
        "type": "Ready",
        "status": "False",
        "message": "unready: [nats]",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    spec = {"containers": [{"name": "nats", "image": "nats:2"}]}
    (pod,) = server_pods([{"metadata": {"name": "n1"}, "spec": spec, "status": {"conditions": [condition]}}])
    assert (pod.unready, pod.unready_since and pod.unready_since.year) == ("unready: [nats]", 2026)
    (pod,) = server_pods([{"metadata": {"name": "n1"}, "spec": spec, "status": {}}])
    assert (pod.unready, pod.unready_since) == ("its container is not ready", None)


def test_where_claims_are_mounted() -> None:
    container = {"name": "nats", "image": "nats:2", "volumeMounts": [{"name": "js", "mountPath": "/data"}]}
    volumes = [
        {"name": "js", "persistentVolumeClaim": {"claimName": "nats-js-nats-0"}},
        {"name": "pid", "emptyDir": {}},
    ]
    (pod,) = server_pods([{"metadata": {"name": "nats-0"}, "spec": {"containers": [container], "volumes": volumes}}])
    assert pod.mounts == {"nats-js-nats-0": "/data"}


def test_warnings_are_the_newest_of_each_reason_about_server_pods() -> None:
    def event(name: str, message: str, minute: int, **more: Any) -> dict[str, Any]:
        about = {"kind": "Pod", "name": name}
        last = f"2026-01-01T00:{minute:02}:00Z"
        return {"type": "Warning", "reason": "Unhealthy", "message": message, "involvedObject": about} | (
            {"lastTimestamp": last} | more
        )

    pods = server_pods(recorded("pods"))
    events = [
        event("n1", "old", 1),
        event("n1", "new", 3),
        event("n1", "series", 2, reason="BackOff", lastTimestamp=None, series={"count": 7, "lastObservedTime": None}),
        event("nats-box-0", "another pod", 5),
        event("n2", "no warning", 5, type="Normal"),
        event("n3", "a StatefulSet of that name", 5, involvedObject={"kind": "StatefulSet", "name": "n3"}),
        event("nats", "no room", 0, involvedObject={"kind": "StatefulSet", "name": "nats"}),
    ]
    pods = (*pods, msgspec.structs.replace(pods[0], owner="nats", claims=("nats",)))
    warnings = [(warning.name, warning.message, warning.count) for warning in object_warnings(events, pods)]
    assert warnings == [("n1", "new", 1), ("nats", "no room", 1), ("n1", "series", 7)]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("10Gi", 10 << 30),
        ("500M", 500_000_000),
        ("1Ki", 1024),
        ("3", 3),
        ("1.5G", 1_500_000_000),
        ("1m", None),
        ("", None),
    ],
)
def test_quantities(text: str, size: int | None) -> None:
    assert quantity_bytes(text) == size

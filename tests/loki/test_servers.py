"""Labels distinguish servers as the usual shippers set them, and queries are understood as far as needed."""

from collections.abc import Iterable

import pytest

from jsdoctor.logs.loki import Labels, labels_of, parse_log_query
from jsdoctor.sources.loki.servers import Span, named_streams

Streams = list[dict[str, str]]
HELM = {"app": "nats", "namespace": "shop", "job": "shop/nats", "stream": "stderr"}
POD = "/var/log/pods/shop_{}_9c/nats/{}.log"


def helm(pod: str, restart: int = 0, **more: str) -> dict[str, str]:
    return {**HELM, "pod": pod, "container": "nats", "filename": POD.format(pod, restart), **more}


def spans(streams: Iterable[Labels]) -> dict[Labels, Span]:
    """All streams have lines at the same time."""
    return dict.fromkeys(streams, (1, 9))


@pytest.mark.parametrize(
    ("streams", "names", "labels"),
    [
        ([helm("nats-0"), helm("nats-1"), helm("nats-2")], ["nats-0", "nats-1", "nats-2"], ("pod",)),
        ([helm("nats-0"), helm("nats-0", 1), helm("nats-0", 2, node="b")], ["nats-0"] * 3, ("pod",)),
        ([helm("nats-0", level="info"), helm("nats-0", level="error")], ["nats-0"] * 2, ("pod",)),
        ([helm("nats-0"), helm("nats-0", __stream_shard__="1"), helm("nats-1")], ["nats-0", "nats-0", "nats-1"],
         ("pod",)),
        ([{"host": "a"}, {"host": "a", "__stream_shard__": "1"}, {"host": "b"}], ["a", "a", "b"], ("host",)),
        (
            [helm("nats-0"), helm("nats-0", container="reloader"), helm("nats-1")],
            ["nats-0", "nats-0:reloader", "nats-1"],
            ("pod", "container"),
        ),
        (
            [helm("nats-0"), helm("nats-0", namespace="test")],
            ["shop:nats-0", "test:nats-0"],
            ("namespace", "pod"),
        ),
        ([{"job": "nats", "instance": "10.0.0.1:8222"}, {"job": "nats", "instance": "10.0.0.2:8222"}],
         ["10.0.0.1:8222", "10.0.0.2:8222"], ("instance",)),
        ([{"host": "a", "container": "nats"}, {"host": "b", "container": "nats"}], ["a", "b"], ("host",)),
        ([{"host": "a", "container_name": "/n1"}, {"host": "a", "container_name": "/n2"}], ["n1", "n2"],
         ("container_name",)),
        ([{"host": "a", "container": "n1"}, {"host": "a", "container": "n2"}, {"host": "b", "container": "n1"}],
         ["a:n1", "a:n2", "b:n1"], ("host", "container")),
        ([{"job": "nats", "filename": "/l/n1.log"}, {"job": "nats", "filename": "/l/n2.log"},
          {"job": "nats", "filename": "/l/n1.log.1"}], ["l/n1.log", "l/n2.log", "l/n1.log"], ("filename",)),
        ([{"job": "nats", "srv": "x"}, {"job": "nats", "srv": "y"}], ["x", "y"], ("srv",)),
        ([{"app": "nats"}], ["app=nats"], ("app",)),
        ([{"host": "a"}, {"host": "a", "level": "warn"}], ["a", "a"], ("host",)),
        ([{"level": "warn"}], ["unnamed"], ()),
    ],
)  # fmt: skip
def test_servers_are_distinguished(streams: Streams, names: list[str], labels: tuple[str, ...]) -> None:
    named = named_streams(spans(map(labels_of, streams)))
    assert [named.names[labels_of(stream)] for stream in streams] == names
    assert named.labels == labels


def test_pods_of_one_name_are_distinguished_by_what_differs_at_the_same_time() -> None:
    """An unknown label that changes with an upgrade is of one pod; one under which two log at once is of two."""
    old, new = (labels_of(helm("nats-0", site=site)) for site in ("x", "y"))
    assert named_streams({old: (1, 5), new: (5, 9)}).logs == ("nats-0",)
    assert named_streams({old: (1, 6), new: (5, 9)}).logs == ("x:nats-0", "y:nats-0")
    tenants = [labels_of(helm("nats-0", __tenant_id__=tenant)) for tenant in "ab"]
    assert named_streams({tenants[0]: (1, 5), tenants[1]: (5, 9)}).logs == ("a:nats-0", "b:nats-0")


def test_the_user_may_choose_the_label() -> None:
    streams = [labels_of(helm("nats-0", node="a")), labels_of(helm("nats-1", node="b"))]
    assert named_streams(spans(streams), ["node"]).logs == ("a", "b")
    assert named_streams(spans(streams), ["node", "pod"]).logs == ("a:nats-0", "b:nats-1")
    assert named_streams(spans(streams), ["none"]).logs == ("-",)


def test_logs_that_would_have_one_name_are_kept_apart() -> None:
    streams = [{"host": "a", "container": "nats"}, {"host": "a"}, {"host": "b", "container": "log"}]
    assert len(named_streams(spans(map(labels_of, streams))).logs) == 3


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ('{app="nats"}', False),
        (' { app = "nats", pod=~"nats-.+" } ', False),
        ('{a="}"} | json | line_format "{{.log}}"', False),
        ("{a=`b|c`} | decolorize", False),
        ('{a="b"} | label_format x=y, z="{{.a}}" | drop x', False),
        ('{app="nats"} |= "error"', True),
        ('{app="nats"} != "TRC"', True),
        ('{app="nats"} | json | level="error"', True),
        ('{app="nats", level="error"}', True),
        ('{app="nats"} | decolorize |~ "x"', True),
        ('{app="nats"} | logfmt | x == 1', True),
        ('{app="nats"} | newstage', True),
        ('{app="nats"} # |= "x"', True),
    ],
)
def test_filters_of_queries_are_seen(text: str, filters: bool) -> None:
    query = parse_log_query(text)
    assert query.filters == filters
    assert query.text == text.strip()


@pytest.mark.parametrize("text", ["", "nats", 'rate({a="b"}[5m])', '{a="b"', '{a="b"}[5m]', '{{a="b"}}', '"{a}"'])
def test_what_selects_no_lines_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"selector|metric"):
        parse_log_query(text)


def test_a_long_query_is_read_at_once() -> None:
    assert parse_log_query('{a="b"} | json ' + "x, " * 50_000 + "!").filters
    assert not parse_log_query("{" + "a" * 100_000 + "}" + " | json" * 10_000).filters
    assert parse_log_query('{a="b"}' + ' "' * 100_000).filters

"""Which servers share one JetStream, and labels and names that stay apart."""

from jsdoctor.model.jetstream import Peer
from jsdoctor.model.server import MetaGroup
from jsdoctor.replies.domains import AnsweringServer, Domains, domains_of


def member(
    key: str, name: str, cluster: str, domain: str, *names: str, size: int = 0, leader: bool = True
) -> AnsweringServer:
    """A server whose meta group has these members, the first of which leads."""
    peers = tuple(Peer(name=other) for other in names if other != name)
    meta = MetaGroup(
        leader=names[0] if leader else "", replicas=peers if leader else (), cluster_size=size or len(names)
    )
    return AnsweringServer(key, name, cluster, domain, meta)


def site(key: str, name: str, domain: str = "") -> AnsweringServer:
    """A single server."""
    return AnsweringServer(key, name, name, domain)


def group(cluster: str, domain: str, *names: str) -> list[AnsweringServer]:
    return [member(f"{cluster}-{name}", name, cluster, domain, *names) for name in names]


def labels(domains: Domains, *sources: AnsweringServer) -> list[str]:
    return [domains.label(responder.key) for responder in sources]


def test_one_cluster_needs_no_label_and_keeps_its_domain() -> None:
    plain, named = group("C", "", "n1", "n2", "n3"), group("C", "hub", "n1", "n2", "n3")
    assert set(labels(domains_of(plain, set()), *plain)) == {""}
    assert set(labels(domains_of(named, set()), *named)) == {"hub"}


def test_sites_with_domains_of_their_own_stay_apart_whatever_their_servers_are_called() -> None:
    hub, sites = group("HUB", "hub", "n1", "n2", "n3"), [site("a", "n1", "east"), site("b", "n1", "west")]
    domains = domains_of([*hub, *sites], set())
    assert labels(domains, *hub, *sites) == ["hub", "hub", "hub", "east", "west"]
    assert [domains.names.get(s.key, s.name) for s in (*hub, *sites)] == ["n1@hub", "n2", "n3", "n1@east", "n1@west"]
    assert domains.renamed("HUB-n2") == {"n1": "n1@hub"}


def test_sites_without_a_domain_never_share_the_label_of_the_hub() -> None:
    hub, sites = group("HUB", "", "n1", "n2", "n3"), [site("a", "s1"), site("b", "s2")]
    assert labels(domains_of([*hub, *sites], set()), *hub, *sites) == ["", "", "", "s1", "s2"]


def test_a_super_cluster_is_one_domain_with_and_without_a_leader() -> None:
    names = ("w1", "w2", "e1", "e2")
    led = [member(n, n, "W" if n[0] == "w" else "E", "", *names) for n in names]
    lost = [member(n, n, "W" if n[0] == "w" else "E", "", *names, leader=False) for n in names]
    assert set(labels(domains_of(led, set()), *led)) == set(labels(domains_of(lost, set()), *lost)) == {""}


def test_two_clusters_with_the_same_domain_and_servers_are_two_domains() -> None:
    first, two = group("A", "", "n1", "n2", "n3"), group("B", "", "n1", "n2", "n3")
    domains = domains_of([*first, *two], set())
    assert labels(domains, first[0], two[0]) == ["A", "B"]
    assert len({domains.names[s.key] for s in (*first, *two)}) == 6


def test_two_servers_of_one_name_in_one_cluster_have_their_ids_added() -> None:
    twins = [member(key, "n2", "C", "hub", "n1", "n2") for key in ("NC5MJRAAA", "NBWAQBAAA")]
    domains = domains_of([*group("C", "hub", "n1"), *twins], set())
    assert [domains.names.get(s.key) for s in twins] == ["n2#NC5MJR@hub", "n2#NBWAQB@hub"]
    assert domains.renamed("C-n1") == {"n2#NC5MJR": "n2#NC5MJR@hub", "n2#NBWAQB": "n2#NBWAQB@hub"}
    unnamed = [member(key, "n2", "C", "", "n1", "n2") for key in ("NC5MJRAAA", "NBWAQBAAA")]
    assert list(domains_of(unnamed, set()).names.values()) == ["n2#NC5MJR", "n2#NBWAQB"]

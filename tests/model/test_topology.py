"""How a deployment is described in one line."""

import pytest

from jsdoctor.model.topology import Domain, Topology

THREE = ("n1", "n2", "n3")


def domain(
    *servers: str, size: int = 0, clusters: tuple[str, ...] = ("C",), label: str = "", site: bool = False
) -> Domain:
    return Domain(label=label, name=label, clusters=clusters, servers=servers, meta_size=size, is_site=site)


@pytest.mark.parametrize(
    ("domains", "words"),
    [
        ((domain("n1"),), "single server"),
        ((domain(*THREE, size=3),), "cluster of 3 servers"),
        # One of them is down, or was not seen.
        ((domain("n1", "n2", size=3),), "cluster of 3 servers"),
        ((domain(*THREE, size=2),), "cluster of 3 servers, of which the meta group has 2"),
        ((domain(*THREE, size=3, clusters=("A", "B", "C")),), "super-cluster of 3 clusters, 3 servers"),
        (
            (domain("n1", label="X"), domain(*THREE, size=3, label="Y"), domain("m1", label="Z")),
            "cluster of 3 servers, 2 times single server",
        ),
        (
            (domain(*THREE, size=3), domain("s1", label="S", site=True)),
            "cluster of 3 servers, 1 leaf site with a JetStream of its own",
        ),
    ],
)
def test_the_shape_in_words(domains: tuple[Domain, ...], words: str) -> None:
    assert Topology(domains=domains).words() == words

"""Which option of the command line brings which kind of evidence: how to go on where it was not given."""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.checks.registry import Check
from jsdoctor.model.evidence import EvidenceSet, EvidenceSource
from jsdoctor.model.manifest import Manifests, RunningConfigurations


def sources_for(check: Check, evidence: EvidenceSet | None) -> frozenset[EvidenceSource]:
    """The sources that a check lacks. Empty: it has all that it requires. `evidence` None: nothing was collected.

    Of optional evidence one kind is enough, so that only the cheapest source is named.
    """
    wanted = list(check.required.values()) or list(check.optional.values())
    missing = [kind for kind in wanted if evidence is None or evidence.get(kind) is None]
    sources = frozenset(kind.source or EvidenceSource.LIVE for kind in missing)
    if check.required:
        return sources
    cheapest = next((source for source in EvidenceSource if source in sources), None)
    return frozenset() if cheapest is None or len(missing) < len(wanted) else frozenset({cheapest})


def any_source(checks: Iterable[Check], evidence: EvidenceSet | None) -> frozenset[EvidenceSource]:
    """The evidence sources of a rule: of the check that lacks least, and of each that lacks one thing only."""
    # The content of a file is not what runs: it decides no cause.
    able = [check for check in checks if not {Manifests, RunningConfigurations} & set(check.required.values())]
    lacking = [ways for check in able if (ways := sources_for(check, evidence))]
    single = [ways for ways in lacking if len(ways) == 1]
    return frozenset().union(*single) if single else min(lacking, key=len, default=frozenset())


def used_sources(evidence: EvidenceSet) -> frozenset[EvidenceSource]:
    """The sources that all evidence at hand came from."""
    return frozenset(known.source for known in evidence.present if known.source is not None)


def in_words(way: EvidenceSource, stream: str) -> str:
    """What to do: an option of `jsdoctor diagnose` and what it brings."""
    return {
        EvidenceSource.LIVE: "query the deployment: --context NAME or -s URL, or --bundle FILE of a capture",
        EvidenceSource.TREND: "take two samples: --samples 2, while the application publishes and consumes as usual",
        EvidenceSource.SYSTEM: "use a login of the system account (--context NAME), or every server's --monitor URL",
        EvidenceSource.SCAN: f"read the stored messages: --scan {stream or 'STREAM'}, with a login of their account",
        EvidenceSource.EXPECTED: f"say what the publisher expected: --stream {stream or 'STREAM'} --expected-seq N",
        EvidenceSource.ACKS: "measure acknowledgements: nats consumer edit STREAM CONSUMER --sample 100 -f, then retry",
        EvidenceSource.HISTORY: "compare with earlier bundles of the same deployment: --history DIR",
        EvidenceSource.PACKETS: "read a capture of the traffic between client and server: --pcap FILE",
        EvidenceSource.LOGS: "read logs of the servers and of the applications: --logs PATH",
        EvidenceSource.NTP: "query the time: --ntp HOST",
        EvidenceSource.HOST: "look at the host of a server: --host there, as root",
        EvidenceSource.KUBERNETES: "query Kubernetes: --kube -n NAMESPACE",
    }[way]

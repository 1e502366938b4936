"""All parts of a report's picture."""

from __future__ import annotations

from jsdoctor.engine.picture.charts import ack_latencies, clock_offsets, usages
from jsdoctor.engine.picture.rates import rates
from jsdoctor.engine.picture.timeline import timeline
from jsdoctor.engine.picture.topology import edges, nodes
from jsdoctor.engine.picture.trends import delivered_rates, leaders, redeliveries, stored_rates, trends
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.picture import Picture
from jsdoctor.model.report import Report


def picture(report: Report, evidence: EvidenceSet) -> Picture:
    """What can be drawn of this run. Parts without evidence are empty."""
    return Picture(
        timeline=timeline(report, evidence),
        rates=rates(report, evidence),
        trends=trends(report, evidence),
        stored_rates=stored_rates(evidence),
        delivered_rates=delivered_rates(evidence),
        redeliveries=redeliveries(evidence),
        ack_latencies=ack_latencies(evidence),
        usages=usages(evidence),
        clocks=clock_offsets(evidence),
        leaders=leaders(evidence),
        nodes=nodes(report, evidence),
        edges=edges(evidence),
    )

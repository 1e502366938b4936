"""The picture of a report, drawn from the evidence of a run and from what the rules found."""

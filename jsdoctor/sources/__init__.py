"""Where evidence comes from: each source reads what the rules of a run need, and one function asks all of them."""

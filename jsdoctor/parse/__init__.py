"""Raw bytes to model. Pure: every reader of evidence, live or captured, goes through here."""

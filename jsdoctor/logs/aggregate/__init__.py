"""The rows of all parts, aggregated to occurrences, process runs and gaps of servers, and assembled as evidence."""

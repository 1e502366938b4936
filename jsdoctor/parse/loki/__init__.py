"""What Loki sends: its replies, the query they answer, and the servers that labels name."""

"""What NATS said in a packet capture: bytes put in order, protocol lines, and what clients and servers did."""

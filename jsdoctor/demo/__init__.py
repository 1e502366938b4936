"""The demonstration: a real nats-server with faults planted in it, for `jsdoctor demo`."""

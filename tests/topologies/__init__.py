"""Real deployments of every shape: leaf nodes, gateways, domains, MQTT and WebSocket, on free local ports."""

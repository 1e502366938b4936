"""What checks of several families need to know of servers: their health, and the connections that they closed."""

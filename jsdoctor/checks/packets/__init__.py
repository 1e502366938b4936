"""What checks of packet captures share."""

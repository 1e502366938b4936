"""What happened to the segments of a TCP connection: reordered, sent again, duplicated, or never captured.

The method is that of docs/adr/0013: holes, ids of IPv4, TCP timestamps, SACK and DSACK.
"""

"""`python -m tests.servers` installs every nats-server that the tests need and says where."""

import sys

from tests.servers.binaries import ROOT, VERSIONS, server_binary

for version in VERSIONS:
    sys.stdout.write(f"nats-server {version}: {server_binary(version).relative_to(ROOT)}\n")

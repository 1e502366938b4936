"""JSD816: which limits people write, and which volumes are none of their own disk."""

import pytest

from jsdoctor.checks.server_health.file_store_limit import file_store_limit_declared
from jsdoctor.model.finding import Finding
from jsdoctor.model.manifest import DeclaredServers, FilePosition, Manifests
from tests.checks.values import params_of


def declared(**settings: object) -> list[Finding]:
    values = {"jetstream": True, "volume_bytes": 100 << 30, "max_file_store": 50 << 30} | settings
    servers = DeclaredServers(what="Helm values", place=FilePosition("values.yaml"), settings=values, name="nats")
    params = params_of("JSD816")
    return list(file_store_limit_declared(Manifests(servers=(servers,)), params))


@pytest.mark.parametrize(
    "name", ["nfs-client", "aws-efs", "azurefile-premium", "filestore-hdd", "CephFS", "glusterfs", "smb", "s3-csi"]
)
def test_storage_classes_that_are_no_disk(name: str) -> None:
    (finding,) = declared(storage_class=name)
    assert finding.message.startswith(f"storage class {name!r} looks like a network file system")

"""A real kube-apiserver with etcd, without nodes: pods are objects whose status a test writes, as a kubelet would.

Pods' IP is an address of this machine, where real nats-servers listen, so the API server's proxy reaches their
monitoring ports. What a kubelet serves, the logs of containers, comes from `kubelet.py`.
"""

import json
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.demo.server import free_ports

Json = dict[str, Any]
_BIN = Path(__file__).resolve().parent.parent.parent / ".cache" / "bin"
ADMIN, READER = "admin-token", "reader-token"
_START_S = 60


class KubeCluster:
    """One running API server. `kubeconfig` has contexts `admin` and `reader`, who may do nothing at first."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url, self.directory = url, directory
        self.kubeconfig = directory / "kubeconfig"
        self._tls = ssl.create_default_context()
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE

    def call(self, method: str, path: str, body: Json | None = None) -> Json:
        """One request of the administrator. Raises urllib's HTTPError."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, context=self._tls, timeout=20) as answer:  # noqa: S310
            reply: Json = json.loads(answer.read())
            return reply

    def create(self, path: str, body: Json, status: Json | None = None) -> Json:
        """An object, and its status where one is given."""
        made = self.call("POST", path, body)
        if status is not None:
            self.call("PATCH", f"{path}/{body['metadata']['name']}/status", {"status": status})
        return made

    def kubectl(self, *arguments: str) -> str:
        """What kubectl prints as the administrator."""
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), "--context", "admin", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def missing_parts() -> str:
    """What is not installed, or an empty text."""
    if not (_BIN / "kube-apiserver").exists() or not (_BIN / "etcd").exists():
        return "no kube-apiserver: make kube-apiserver (needs Go)"
    return "" if shutil.which("kubectl") else "no kubectl in PATH"


def own_address() -> str:
    """An address of this machine that is not a loopback address, which the API server refuses to reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.254", 9))
        return str(probe.getsockname()[0])


@contextmanager
def kube_cluster(directory: Path) -> Iterator[KubeCluster]:
    """An API server while the context lasts. Skips the test where its parts are not there."""
    if why := missing_parts():
        pytest.skip(why)
    client, peer, secure = free_ports(3)
    certificates = directory / "certificates"
    certificates.mkdir()
    _key(directory / "service-account.key")
    (directory / "tokens.csv").write_text(f'{ADMIN},admin,1,"system:masters"\n{READER},reader,2,""\n')
    etcd = f"http://127.0.0.1:{client}"
    commands = [
        [
            str(_BIN / "etcd"),
            *("--data-dir", str(directory / "etcd"), "--unsafe-no-fsync"),
            *("--listen-client-urls", etcd, "--advertise-client-urls", etcd),
            *(
                "--listen-peer-urls",
                f"http://127.0.0.1:{peer}",
                "--initial-advertise-peer-urls",
                f"http://127.0.0.1:{peer}",
            ),
            *("--initial-cluster", f"default=http://127.0.0.1:{peer}"),
        ],
        [
            str(_BIN / "kube-apiserver"),
            *(f"--etcd-servers={etcd}", "--bind-address=127.0.0.1", f"--secure-port={secure}"),
            *(
                f"--cert-dir={certificates}",
                f"--token-auth-file={directory / 'tokens.csv'}",
                "--authorization-mode=RBAC",
            ),
            *(
                "--service-account-issuer=https://example.org",
                f"--service-account-key-file={directory / 'service-account.key'}",
            ),
            f"--service-account-signing-key-file={directory / 'service-account.key'}",
            *(
                "--service-cluster-ip-range=10.96.0.0/16",
                "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            ),
        ],
    ]
    running = []
    try:
        for command in commands:
            log = (directory / f"{Path(command[0]).name}.log").open("wb")
            running.append(subprocess.Popen(command, stdout=log, stderr=log))
            log.close()
        cluster = KubeCluster(f"https://127.0.0.1:{secure}", directory)
        _write_kubeconfig(cluster)
        _await(cluster)
        yield cluster
    finally:
        for process in reversed(running):
            process.kill()
        for process in running:
            process.wait(timeout=30)


def _key(path: Path) -> None:
    subprocess.run(["openssl", "genrsa", "-out", str(path), "2048"], check=True, capture_output=True)


def _write_kubeconfig(cluster: KubeCluster) -> None:
    users = {"admin": ADMIN, "reader": READER}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": {"server": cluster.url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": name, "user": {"token": token}} for name, token in users.items()],
        "contexts": [
            {"name": name, "context": {"cluster": "lab", "user": name, "namespace": "nats"}} for name in users
        ],
        "current-context": "reader",
    }
    cluster.kubeconfig.write_text(json.dumps(config))
    cluster.kubeconfig.chmod(0o600)


def _await(cluster: KubeCluster) -> None:
    until = time.monotonic() + _START_S
    while True:
        try:
            cluster.call("GET", "/api/v1/namespaces/default")
        except (OSError, urllib.error.URLError):
            if time.monotonic() > until:
                log = (cluster.directory / "kube-apiserver.log").read_text(errors="replace")
                raise AssertionError(f"kube-apiserver does not start:\n{log[-3000:]}") from None
            time.sleep(0.3)
        else:
            return

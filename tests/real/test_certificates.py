"""Servers whose certificates run out: by the server's own clock, on every listener."""

from __future__ import annotations

from pathlib import Path

import pytest

from jsdoctor.demo.server import NatsServer, free_ports
from tests.clock import clock_shifter
from tests.collect.certificates import Certificates
from tests.real.outage import check, failures_of
from tests.servers import VERSIONS, server_binary

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("certificates")]

DAY_S = 86_400


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("pki"))


def _tls(pair: tuple[Path, Path]) -> str:
    return f'tls {{ cert_file: "{pair[0]}", key_file: "{pair[1]}" }}'


@pytest.mark.parametrize("version", VERSIONS)
def test_expiring_certificates_are_found(certificates: Certificates, tmp_path: Path, version: str) -> None:
    shift = clock_shifter(tmp_path)
    route, leaf, websocket = free_ports(3)
    config = (
        f"server_name: tls\n{_tls(certificates.valid_for(90))}\n"
        f'cluster {{ name: C, listen: "127.0.0.1:{route}", {_tls(certificates.valid_for(20))} }}\n'
        f'leafnodes {{ listen: "127.0.0.1:{leaf}", {_tls(certificates.valid_for(60))} }}\n'
        f'websocket {{ listen: "127.0.0.1:{websocket}", {_tls(certificates.valid_for(60))} }}\n'
    )
    with NatsServer.start(server_binary(version), config, tmp_path / "tls") as server:
        _, report = check("--monitor", server.monitor_url, "--samples", "1", "-vv")
        (judged,) = [result for result in report["results"] if result["code"] == "JSD812"]
        if version < "2.12":
            assert judged["outcome"] == "not_evaluated"
            assert "does not say when its certificate expires" in judged["message"]
            return
        assert (judged["outcome"], judged["severity"]) == ("fail", "warning")
        assert "certificate for routes expires in 19 days" in judged["message"]
        assert "leaf nodes" not in judged["message"]
        for days, severity in ((14, "error"), (25, "critical")):
            shift(server.pid, days * DAY_S)
            code, report = check("--monitor", server.monitor_url, "--samples", "1")
            assert failures_of(report, "JSD812") == {"tls": severity}
            assert code == 1
        shift(server.pid, 0)
        renewed = config.replace(_tls(certificates.valid_for(20)), _tls(certificates.valid_for(61)))
    with NatsServer.start(server_binary(version), renewed, tmp_path / "renewed") as server:
        assert failures_of(check("--monitor", server.monitor_url, "--samples", "1")[1], "JSD812") == {}

"""Ports that --sniff listens to: as many as the kernel's filter has room for."""

from __future__ import annotations

import pytest

from jsdoctor.app.packets.options import packet_options
from jsdoctor.collect.packets.bpf import packed, tcp_filter
from jsdoctor.collect.problems import UsageProblem


def test_as_many_ports_as_the_filter_takes() -> None:
    request = packet_options((), "lo", None, range(4000, 4032))
    assert request is not None
    assert packed(tcp_filter(request.ports))


def test_too_many_ports_are_refused_with_a_sentence() -> None:
    with pytest.raises(UsageProblem, match="at most 32 ports"):
        packet_options((), "lo", None, range(4000, 4033))

"""From which version on a server refuses what needs a higher API level, and which level a version has."""

import pytest

from jsdoctor.checks.cluster_health.required_level import goes_offline


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.10.26", False),
        ("2.11.0", False),
        ("2.11.8", False),
        ("2.11.9", True),
        ("2.11.10", True),
        ("2.12.0", True),
        ("2.15.1", True),
        ("", False),
    ],
)
def test_versions_that_refuse(version: str, expected: bool) -> None:
    assert goes_offline(version) is expected

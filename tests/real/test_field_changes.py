"""Changes of every field to every kind of value: a gate decides as the server does, on every version."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest

from tests.real.field_changes import FieldChange
from tests.real.field_trial import ROOM, Trial, trials
from tests.record_fields import changes
from tests.servers import DEFAULT_VERSION, VERSIONS, ClusterFactory

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("field-changes")]

IN_CI = 61
"""In CI one change in so many is tried; the number has no divisor in common with the lists of values."""

MIN_RIGHT = 0.995


def tried(cluster_factory: ClusterFactory, version: str, some: Iterable[FieldChange], directory: Path) -> list[Trial]:
    """Some changes on a server of their own. None is refused by jsdoctor alone, whatever else is wrong."""
    cluster = cluster_factory(version, 1, jetstream=ROOM)
    found = list(trials(cluster, some, directory))
    assert [str(one) for one in found if one.told.refused and not one.real.refused] == []
    return found


def test_some_changes(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """A slice of the nightly test, of all fields and starts."""
    some = list(islice(changes(DEFAULT_VERSION), 0, None, IN_CI))
    found = tried(cluster_factory, DEFAULT_VERSION, some, tmp_path)
    assert len({one.change.field for one in found}) > 45
    wrong = [str(one) for one in found if not one.right]
    assert len(wrong) <= 1, "\n".join(wrong)


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_all_changes(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """At least 99.5 % are judged as the server judges them, and no refusal is claimed falsely."""
    found = tried(cluster_factory, version, changes(version), tmp_path)
    assert len(found) > 2000
    wrong = [str(one) for one in found if not one.right]
    assert 1 - len(wrong) / len(found) >= MIN_RIGHT, "\n".join(wrong)
    coded = [one for one in found if one.told.refused and "(error " in one.told.says and "; " not in one.told.says]
    refused = [one for one in coded if one.real.code != 10025]
    assert [str(one) for one in refused if f"(error {one.real.code})" not in one.told.says] == []

"""Changes of every field to every kind of value: a gate decides as the server does, on every version."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest

from tests.real.field_changes import FieldChange
from tests.real.field_trial import ROOM, Trial, trials
from tests.servers import DEFAULT_VERSION, VERSIONS, ClusterFactory
from tools.record_fields import changes

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("field-changes")]

IN_CI = 61
"""In CI one change in so many is tried; the number has no divisor in common with the lists of values."""

MIN_RIGHT = 0.995


def tried(cluster_factory: ClusterFactory, version: str, some: Iterable[FieldChange], directory: Path) -> list[Trial]:
    """Some changes on a server of their own. None is refused by jsdoctor alone, whatever else is wrong."""
    cluster = cluster_factory(version, 1, jetstream=ROOM)
    tried_changes = list(trials(cluster, some, directory))
    assert [str(trial) for trial in tried_changes if trial.predicted.refused and not trial.real.refused] == []
    return tried_changes


def test_some_changes(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """A slice of the nightly test, of all fields and starts."""
    some = list(islice(changes(DEFAULT_VERSION), 0, None, IN_CI))
    tried_changes = tried(cluster_factory, DEFAULT_VERSION, some, tmp_path)
    assert len({trial.change.field for trial in tried_changes}) > 45
    wrong = [str(trial) for trial in tried_changes if not trial.right]
    assert len(wrong) <= 1, "\n".join(wrong)


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_all_changes(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """At least 99.5 % are judged as the server judges them, and no refusal is claimed falsely."""
    tried_changes = tried(cluster_factory, version, changes(version), tmp_path)
    assert len(tried_changes) > 2000
    wrong = [str(trial) for trial in tried_changes if not trial.right]
    assert 1 - len(wrong) / len(tried_changes) >= MIN_RIGHT, "\n".join(wrong)
    coded = [
        trial
        for trial in tried_changes
        if trial.predicted.refused and "(error " in trial.predicted.message and "; " not in trial.predicted.message
    ]
    refused = [trial for trial in coded if trial.real.code != 10025]
    assert [str(trial) for trial in refused if f"(error {trial.real.code})" not in trial.predicted.message] == []

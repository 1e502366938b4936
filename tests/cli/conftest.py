"""What several tests of commands read."""

from pathlib import Path

import pytest

from bench.log_archive import ArchivePlan, write_archive


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A megabyte of logs of three servers."""
    directory = tmp_path_factory.mktemp("archive") / "logs"
    write_archive(directory, ArchivePlan(megabytes=1))
    return directory

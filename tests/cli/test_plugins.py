"""A check of another package that cannot be imported is named."""

from pathlib import Path

import pytest

from jsdoctor.app.rulebook import load_plugins
from jsdoctor.model.problems import UsageProblem


def test_a_package_that_names_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "mine-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[jsdoctor.checks]\nmine = a_module_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageProblem, match="the plug-in 'mine'"):
        load_plugins()

"""Plug-ins are found where an installed package names the group, and nothing is loaded to look for them elsewhere."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from jsdoctor.app.rulebook import load_plugins
from jsdoctor.collect.problems import UsageProblem

_NAMES = "[jsdoctor.checks]\nmine = a_module_that_is_not_there\n"
_METADATA = "Metadata-Version: 2.1\nName: mine\nVersion: 1\n"


def _package(place: Path, form: str) -> Path:
    information = place / form
    information.mkdir(parents=True)
    (information / ("METADATA" if form.endswith("dist-info") else "PKG-INFO")).write_text(_METADATA)
    (information / "entry_points.txt").write_text(_NAMES)
    return place


@pytest.mark.parametrize("form", ["mine-1.dist-info", "mine.egg-info"])
def test_a_package_that_names_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.syspath_prepend(str(_package(tmp_path, form)))
    with pytest.raises(UsageProblem, match="the plug-in 'mine'"):
        load_plugins()


def test_a_package_in_a_zip_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("mine-1.dist-info/METADATA", _METADATA)
        archive.writestr("mine-1.dist-info/entry_points.txt", _NAMES)
    monkeypatch.syspath_prepend(str(tmp_path / "all.zip"))
    with pytest.raises(UsageProblem, match="the plug-in 'mine'"):
        load_plugins()


def test_without_plugins_no_metadata_is_read(tmp_path: Path) -> None:
    code = "import sys; sys.path = [p for p in sys.path if p.endswith(('lib-dynload', '.11', '.12', '.13', '.14'))]"
    code += f" + [{str(Path(__file__).parents[2])!r}, {str(tmp_path / 'none')!r}]"
    code += (
        "; import jsdoctor.app.rulebook as plugins; plugins.load_plugins(); print('importlib.metadata' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

"""docs/add-a-rule.md adds a rule in five minutes: this follows it word by word in a copy of the tree."""

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.servers.binaries import ROOT

FILE = re.compile(r"^   `(?P<path>[\w/.]+)`\n\n   ```\w+\n(?P<text>.*?)^   ```$", re.MULTILINE | re.DOTALL)


def test_the_walk_through_works(tmp_path: Path) -> None:
    for name in ("jsdoctor", "rules", "fixtures", "tests", "tools", "requirements"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    files = FILE.findall((ROOT / "docs" / "add-a-rule.md").read_text())
    assert [path.split("/")[0] for path, _ in files] == ["rules", "jsdoctor", "fixtures"]
    for path, text in files:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(textwrap.dedent(text))
    golden = ["-c", "from tools.golden_results import write_results; write_results('JSD499')"]
    test = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_rules.py", "-k", "JSD499"]
    said = []
    for command in (golden, test):
        done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        said.append(done.stdout)
    assert re.search(r"\d+ passed", said[-1])
    assert str(tmp_path) not in str(ROOT)

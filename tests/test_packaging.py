"""The wheel is complete and tidy: installed elsewhere, it finds its rules without the source tree."""

import json
import os
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path) -> str:
    """Run *command* with an environment that does not lead back to the source tree; return what it printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "JSDOCTOR"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of what is shipped so that the source tree stays clean."""
    work = tmp_path_factory.mktemp("wheel")
    source = work / "source"
    source.mkdir()
    for part in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / part, source)
    for part in ("jsdoctor", "rules"):
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", work, source, cwd=work)
    (built,) = work.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of a fresh environment that holds the wheel; the dependencies are those of this one."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=environment)
    # After the wheel, and last on sys.path: what it brings is found first. A .pth line does not read the .pth files
    # of the directory it names, so the editable install of this tree stays out of sight.
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n", encoding="utf-8")
    return python.parent


def test_wheel_holds_the_package_and_nothing_beside_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    metadata = wheel.name.rsplit("-", 3)[0] + ".dist-info"
    assert {entry.split("/")[0] for entry in names} == {"jsdoctor", metadata}
    assert not [entry for entry in names if "__pycache__" in entry]
    assert f"{metadata}/licenses/LICENSE" in names


def test_wheel_holds_every_rule_page(wheel: Path) -> None:
    shipped = {entry for entry in zipfile.ZipFile(wheel).namelist() if entry.startswith("jsdoctor/_rules/")}
    pages = {f"jsdoctor/_rules/{page.relative_to(ROOT / 'rules')}" for page in (ROOT / "rules").rglob("*.md")}
    assert pages
    assert pages <= shipped


def test_wheel_holds_the_templates_of_the_html_report(wheel: Path) -> None:
    shipped = {entry for entry in zipfile.ZipFile(wheel).namelist() if "/render/html/templates/" in entry}
    files = (ROOT / "jsdoctor" / "render" / "html" / "templates").iterdir()
    assert shipped == {str(file.relative_to(ROOT)) for file in files}
    assert len(shipped) > 5


def test_installed_command_writes_html(installed: Path, tmp_path: Path) -> None:
    run(installed / "jsdoctor", "diagnose", "--offline", "duplicate orders", "-o", tmp_path / "page.html", cwd=tmp_path)
    assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_installed_command_runs_from_its_own_files(installed: Path) -> None:
    where = run(installed / "python", "-c", "import jsdoctor; print(jsdoctor.__file__)", cwd=Path("/"))
    assert Path(where.strip()).is_relative_to(installed.parent)


def test_installed_command_lists_the_rules_of_the_tree(installed: Path) -> None:
    listed = json.loads(run(installed / "jsdoctor", "rules", "list", "--format", "json", cwd=Path("/")))
    codes = {rule["code"] for rule in listed["rules"]}
    assert codes == {page.stem for page in (ROOT / "rules").rglob("JSD*.md")}

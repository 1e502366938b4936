"""A secret that is given in a wrong place, or stands in a file that is read, is in nothing that comes out."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from jsdoctor.cli import app
from tests.secrets.inputs import INPUTS, Input
from tests.secrets.kinds import KINDS


def leaks(
    given: Input,
    secrets: Sequence[str],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> list[str]:
    """Where the secret is after that run: in what was said, and in files that were not given."""
    place.mkdir()
    for name, content in given.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content)
    with monkeypatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("NATS_", "PROMETHEUS_"))]:
            patch.delenv(name)
        patch.setenv("XDG_CONFIG_HOME", str(place / "config"))
        for name, value in given.variables.items():
            patch.setenv(name, value)
        patch.chdir(place)
        code = app.run(list(given.words))
    output = capfd.readouterr()
    texts = {"stdout": output.out, "stderr": output.err}
    for path in place.rglob("*"):
        if path.is_file() and str(path.relative_to(place)) not in given.files and path.suffix != ".private":
            texts[path.name] = path.read_text(errors="replace")
    assert code != 4, output.err
    assert "Traceback" not in output.err
    if given.writes_reports:
        assert "out.html" in texts, output.err
    return [f"{name}: {_around(text, secret)}" for name, text in texts.items() for secret in secrets if secret in text]


def _around(text: str, secret: str) -> str:
    at = text.index(secret)
    return text[max(at - 60, 0) : at + len(secret) + 20]


ALL = "; ".join(kind.text for kind in KINDS)
APART = 8
"""Each kind stands alone in every eighth way in, and beside all others in each."""
_QUICK = ("check --server", "check --select", "check --timeout", "check --creds", "no command", "diagnose", "NATS_URL")
_IN_CI = (
    *_QUICK,
    "context url",
    "configuration file",
    "server configuration",
    "logs",
    "plan",
    "plan, applied",
    "journal",
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in _IN_CI else pytest.mark.nightly) for name in INPUTS]
)
def test_all_kinds_at_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    secrets = sorted({kind.secret for kind in KINDS})
    assert leaks(INPUTS[name](ALL), secrets, tmp_path / "run", monkeypatch, capfd) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", INPUTS)
def test_each_kind_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    chosen = KINDS[list(INPUTS).index(name) % APART :: APART]
    leaked = [
        f"{kind.name} in {where}"
        for number, kind in enumerate(chosen)
        for where in leaks(INPUTS[name](kind.text), [kind.secret], tmp_path / str(number), monkeypatch, capfd)
    ]
    assert leaked == []

"""What `--kube` says where there is nothing to look at. None of these needs a cluster."""

from pathlib import Path

import pytest

from jsdoctor.__main__ import kubectl
from tests.cli.invoke import jsdoctor


@pytest.mark.parametrize(("option", "value"), [("--namespace", "nats"), ("-n", "nats"), ("--kube-context", "prod")])
def test_options_of_kubernetes_need_it(option: str, value: str, tmp_path: Path) -> None:
    done = jsdoctor("check", option, value, cwd=tmp_path)
    assert (done.returncode, "add --kube" in done.stderr) == (2, True)


def test_without_kubectl(tmp_path: Path) -> None:
    done = jsdoctor("check", "--kube", "-n", "nats", cwd=tmp_path, env={"PATH": str(tmp_path)})
    assert (done.returncode, "kubectl is not in PATH" in done.stderr) == (2, True)


@pytest.mark.parametrize("command", ["check", "capture"])
def test_a_cluster_that_does_not_respond(command: str, tmp_path: Path) -> None:
    """Kubectl stands in for itself: a program that ends with its error, as it does with a broken kubeconfig."""
    fake = tmp_path / "bin" / "kubectl"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'error: context \"prod\" does not exist' >&2\nexit 1\n")
    fake.chmod(0o755)
    arguments = ("-o", "x.zip") if command == "capture" else ()
    done = jsdoctor(
        command, "--kube", "-n", "nats", *arguments, cwd=tmp_path, env={"PATH": f"{fake.parent}:/bin:/usr/bin"}
    )
    assert (done.returncode, 'context "prod" does not exist' in done.stderr) == (3, True)


def test_a_bundle_excludes_it(tmp_path: Path) -> None:
    done = jsdoctor("check", "--kube", "--bundle", "x.zip", cwd=tmp_path)
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("check", "-n", "nats"), ["check", "--kube", "-n", "nats"]),
        (("check", "--kube"), ["check", "--kube"]),
        (("explain", "JSD403"), ["explain", "JSD403"]),
        ((), ["--help"]),
    ],
)
def test_a_plugin_of_kubectl_looks_at_pods(
    words: tuple[str, ...], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[list[str]] = []
    monkeypatch.setattr("sys.argv", ["kubectl-jsdoctor", *words])
    monkeypatch.setattr("jsdoctor.cli.app.run", lambda arguments: run.append(list(arguments)))
    monkeypatch.setattr("gc.set_threshold", lambda _: None)
    monkeypatch.setattr("gc.freeze", lambda: None)
    with pytest.raises(SystemExit):
        kubectl()
    assert run == [asked]

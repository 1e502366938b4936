"""Completion in bash, zsh and fish: options, rules and symptoms, by what each shell's own script asks."""

from pathlib import Path

import pytest

from tests.cli.invoke import jsdoctor_alone as jsdoctor

SHELLS = ("bash", "zsh", "fish")


def offered(shell: str, typed: str, place: Path) -> str:
    """What is offered for the last word."""
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1), "_TYPER_COMPLETE_ARGS": typed}
    words |= {"_JSDOCTOR_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    return jsdoctor(cwd=place, env=words).stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_rules_symptoms_and_options_are_offered(shell: str, tmp_path: Path) -> None:
    assert "JSD403" in offered(shell, "jsdoctor check --select JSD40", tmp_path)
    assert "duplicate-messages" in offered(shell, "jsdoctor explain duplicate-m", tmp_path)
    offers = offered(shell, "jsdoctor check --exit-", tmp_path)
    assert "--exit-zero" in offers
    assert "JSD" not in offers


SCRIPTS = {
    "bash": "complete -o default -F _jsdoctor_completion jsdoctor",
    "zsh": "#compdef jsdoctor",
    "fish": "complete --command jsdoctor",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_for_the_shell_is_printed(shell: str, tmp_path: Path) -> None:
    """For the shell that is named, whichever the test was started from."""
    shown = jsdoctor("--show-completion", shell, cwd=tmp_path).stdout
    assert "_JSDOCTOR_COMPLETE" in shown
    assert [name for name, line in SCRIPTS.items() if line in shown] == [shell]
    assert jsdoctor(f"--show-completion={shell}", cwd=tmp_path).stdout == shown


def test_completion_is_installed_for_the_shell_that_is_named(tmp_path: Path) -> None:
    done = jsdoctor("--install-completion", "zsh", cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert "#compdef jsdoctor" in (tmp_path / ".zfunc" / "_jsdoctor").read_text()
    assert "fpath+=~/.zfunc" in (tmp_path / ".zshrc").read_text()


def test_an_unknown_shell_is_refused(tmp_path: Path) -> None:
    done = jsdoctor("--show-completion", "tcsh", cwd=tmp_path)
    assert done.returncode == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in done.stderr

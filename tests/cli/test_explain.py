"""`jsdoctor explain` names the page on the documentation site that the configuration sets."""

from pathlib import Path

from tests.cli.invoke import jsdoctor

RULES = Path(__file__).resolve().parents[2] / "rules"


def test_the_address_comes_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "jsdoctor.toml").write_text('docs-url = "https://docs.example/jsdoctor"\n')
    assert "https://docs.example/jsdoctor/rules/JSD701/" in jsdoctor("explain", "JSD701", cwd=tmp_path).stdout
    assert (
        "https://docs.example/jsdoctor/symptoms/links-down/" in jsdoctor("explain", "links-down", cwd=tmp_path).stdout
    )


def test_a_configuration_with_mistakes_keeps_no_page_back(tmp_path: Path) -> None:
    (tmp_path / "jsdoctor.toml").write_text('docs-url = "nowhere"\n')
    done = jsdoctor("explain", "JSD701", cwd=tmp_path)
    assert (done.returncode, "page: " in done.stdout) == (0, False)
    assert jsdoctor("config", "show", cwd=tmp_path).returncode == 2


def test_rules_of_the_configured_directories_have_pages(tmp_path: Path) -> None:
    page = (RULES / "consumer_lag" / "JSD419.md").read_text()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "ACME001.md").write_text(
        page.replace("JSD419", "ACME001", 1).replace('slug = "', 'slug = "my-', 1)
    )
    (tmp_path / "jsdoctor.toml").write_text('rule-directories = ["mine"]\n')
    assert jsdoctor("explain", "ACME001", cwd=tmp_path).stdout.startswith("# ACME001 my-")
    assert "ACME001" in jsdoctor("rules", "list", cwd=tmp_path).stdout

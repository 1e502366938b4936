"""Bad input ends with exit 2, one message that names what is wrong and where, and the nearest right spelling."""

from pathlib import Path

import pytest

from tests.cli.invoke import jsdoctor

NOWHERE = ("-s", "nats://127.0.0.1:1")

USAGE = [
    (("chek",), "check"),
    (("check", "--selec", "JSD4"), "--select"),
    (("check", "--select", "JSD4O3", *NOWHERE), "'JSD403'"),
    (("check", "--ignore", "consumer-ack-pending-at-limi", *NOWHERE), "'consumer-ack-pending-at-limit'"),
    (("check", "--select", "JSD403", "--ignore", "JSD4", *NOWHERE), "no rule is left"),
    (("check", "--fail-on", "eror", *NOWHERE), "'error'"),
    (("check", "--samples", "0", *NOWHERE), "it must be a whole number from 1 on"),
    (("check", "--interval", "2", *NOWHERE), "250ms, 5s"),
    (("check", "--timeout", "0s", *NOWHERE), "longer than zero"),
    (("check", "-s", "a", "--server=b"), "it is given 2 times"),
    (("check", "-s", "htp://h:1"), "nats://HOST:4222"),
    (("check", "-s", "nats://h:99999"), "99999"),
    (("check", "--context", "prod"), "'prod'"),
    (("check", "--creds", "missing.creds", *NOWHERE), "missing.creds"),
    (("check", "--config", "missing.toml", *NOWHERE), "missing.toml"),
    (("check", "--rules", "missing", *NOWHERE), "missing"),
    (("check", "--monitor", "ftp://h:1"), "http://"),
    (("check", "--ntp", "http://ntp.example", *NOWHERE), "HOST:PORT"),
    (("capture", "-o", "x.zip", "--ntp", "ntp.example:0", *NOWHERE), "HOST:PORT"),
    (("check", "--bundle", "x.zip", "--ntp", "ntp.example"), "--ntp cannot be given with it"),
    (("check", "--format", "xml", *NOWHERE), "'json'"),
    (("explain", "JSD4O3"), "'JSD403'"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE, ids=[" ".join(a) for a, _ in USAGE])
def test_usage(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = jsdoctor(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stdout == ""


CONFIGURATION = [
    ('slect = ["JSD4"]\n', "jsdoctor.toml:1: unknown key 'slect'; did you mean 'select'?"),
    ('\nfail-on = "eror"\n', "jsdoctor.toml:2: 'fail-on': is 'eror', not one of info"),
    ("interval = 5\n", "jsdoctor.toml:1: 'interval': must be a text"),
    ("samples = 0\n", "jsdoctor.toml:1: 'samples': must be 1 or more"),
    (
        "[rules.JSD403]\n\nwarn_fractoin = 0.9\n",
        "jsdoctor.toml:3: JSD403 has no parameter 'warn_fractoin'; did you mean",
    ),
    ('[rules.JSD403]\nwarn_fraction = "x"\n', "jsdoctor.toml:2: 'x' is not a number"),
    ("[rules.JSD4O3]\nwarn_fraction = 1\n", "jsdoctor.toml:2: no rule is named 'JSD4O3'; did you mean 'JSD403'?"),
    ("select = [\n", "jsdoctor.toml:"),
    ('ntp = "ntp.example"\n', "jsdoctor.toml:1: 'ntp': must be a list of texts"),
    ("rules = 3\n", "jsdoctor.toml:1: 'rules' must hold tables"),
]


@pytest.mark.parametrize(("text", "message"), CONFIGURATION)
def test_configuration_file(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "jsdoctor.toml").write_text(text)
    done = jsdoctor("check", *NOWHERE, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_pyproject_is_read_when_it_has_a_table_of_jsdoctor(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n\n[tool.jsdoctor]\nignor = ["JSD4"]\n')
    done = jsdoctor("check", *NOWHERE, cwd=tmp_path)
    assert (done.returncode, "pyproject.toml:5: unknown key 'ignor'; did you mean 'ignore'?" in done.stderr) == (
        2,
        True,
    )
    assert jsdoctor("check", *NOWHERE, "--isolated", cwd=tmp_path).returncode == 3


PAGE = """+++
code = "ACME001"
slug = "acme-rule"
title = "All is well"
check = "consumer_lag.ack_pending_at_limit"
severity = "error"
status = "stable"
+++
## What it detects
## Why it matters
## How it is measured
## Fix
## False positives
## References
"""

PAGES = [
    (
        PAGE.replace("severity", "severty"),
        "ACME001.md:6: unknown key 'severty' in the front matter; did you mean 'severity'?",
    ),
    (
        PAGE.replace('"error"', '"fatal"'),
        "ACME001.md:6: 'severity' is 'fatal', not one of info, warning, error, critical",
    ),
    (PAGE.replace("ack_pending_at", "ack_pending_to"), "did you mean 'consumer_lag.ack_pending_at_limit'?"),
    (PAGE.replace("## Fix\n", ""), "ACME001.md:9: the page needs a section '## Fix'"),
    (PAGE.replace("ACME001", "JSD999"), "the prefix JSD is reserved"),
    (PAGE.replace("ACME001", "ACME002"), "named after its code: ACME002.md"),
    (PAGE.replace('"acme-rule"', "acme"), "ACME001.md:3: the front matter is not TOML"),
    (
        PAGE.replace("+++\n## What", '[remedy]\naction = "consumer.rais_max_ack_pending"\nrisk = "safe"\n+++\n## What'),
        "did you mean 'consumer.raise_max_ack_pending'?",
    ),
    ("# no front matter\n", "ACME001.md:1: a page starts with TOML front matter"),
]


@pytest.mark.parametrize(("page", "message"), PAGES)
def test_rule_page(page: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "ACME001.md").write_text(page)
    for arguments in (("rules", "validate", "mine"), ("check", "--rules", "mine", *NOWHERE)):
        done = jsdoctor(*arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr


def test_a_good_page_of_ones_own_is_listed_and_explained(tmp_path: Path) -> None:
    (tmp_path / "ACME001.md").write_text(PAGE)
    assert "ACME001" in jsdoctor("rules", "list", "--rules", ".", cwd=tmp_path).stdout
    assert "acme-rule" in jsdoctor("explain", "acme-rule", "--rules", ".", cwd=tmp_path).stdout
    assert "no mistakes" in jsdoctor("rules", "validate", ".", cwd=tmp_path).stdout


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    done = jsdoctor("check", *NOWHERE, "--format", "json", "-o", "no/such/place.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "no/such/place.json" in done.stderr

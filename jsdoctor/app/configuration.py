"""Finding and reading the configuration file: `--config FILE`, else `jsdoctor.toml`, else `pyproject.toml` here."""

from __future__ import annotations

import os
from pathlib import Path

from jsdoctor.app.request import ENVIRONMENT_VARIABLE, ConfigurationRequest
from jsdoctor.configuration.file import Configuration, in_environment, parse_configuration
from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.request import source_options


def load_configuration(request: ConfigurationRequest) -> Configuration:
    """The configuration that applies in an environment. Raises `UsageProblem` or `ConfigurationError`.

    Without a name, the environment is the one of JSDOCTOR_ENVIRONMENT, else of the file, else none.
    """
    if request.isolated:
        return in_environment(Configuration(), request.environment) if request.environment else Configuration()
    config = _read_configuration(request.config)
    name = request.environment or os.environ.get(ENVIRONMENT_VARIABLE, "") or config.environment
    return in_environment(config, name) if name else config


def _read_configuration(named: Path | None) -> Configuration:
    """Read the named file, else the first of the usual files that holds settings of jsdoctor."""
    for path in [named] if named else [Path("jsdoctor.toml"), Path("pyproject.toml")]:
        if named is None and not path.is_file():
            continue
        text = _file_text(path)
        if path.name != "pyproject.toml":
            return parse_configuration(str(path), text, options=source_options())
        if named is not None or "[tool.jsdoctor" in text:
            return parse_configuration(str(path), text, ("tool", "jsdoctor"), source_options())
    return Configuration()


def _file_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        hint = "name an existing file with --config"
        raise UsageProblem(f"cannot read the configuration {path}: {error.strerror}", hint) from error
    except UnicodeDecodeError as error:
        raise UsageProblem(f"the configuration {path} is not UTF-8 text: {error}", "save it as UTF-8") from error

"""`jsdoctor config show`: every setting as it applies now, and where it comes from. No secret is shown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.request import ConfigurationRequest
from jsdoctor.app.rulebook import Rulebook, open_rulebook
from jsdoctor.cli.report_output import DEFAULT_MAX_EXAMPLES
from jsdoctor.configuration.file import Configuration
from jsdoctor.engine.overrides import overrides, severities_of
from jsdoctor.engine.suppression import resolve_waivers
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.finding import Severity
from jsdoctor.model.option import request_from
from jsdoctor.redaction.redact import scrub_line
from jsdoctor.render.escape import printable
from jsdoctor.render.wording import quantity
from jsdoctor.sources.archives.part import log_scan
from jsdoctor.sources.connect.options import connection_options
from jsdoctor.sources.connection import resolve_connection, resolve_logins
from jsdoctor.sources.live import pace
from jsdoctor.sources.request import LiveRequest
from jsdoctor.sources.servers.monitor_url import parse_monitor_url

_DEFAULT = "default"
_SECRET_SUFFIX = "-header"


class ShownSetting(NamedTuple):
    """One setting: its value as it is written, and the place that decided it."""

    name: str
    value: str
    origin: str


def show_config(given: Mapping[str, Any], every: bool, format_: str) -> ExitCode:
    """Print the settings. `every`: parameters of rules that nobody set, too. Raises what a run itself would raise."""
    config = load_configuration(request_from(ConfigurationRequest, given))
    rulebook = open_rulebook(config.rule_paths, config.policies)
    settings = [
        *_connection_settings(given, config),
        *_run_settings(config),
        *_rule_parameters(config, rulebook, every),
        *_severity_settings(config, rulebook),
        *_policy_settings(config),
        *_waiver_settings(config, rulebook),
        ShownSetting("log-scan", *log_scan()),
    ]
    if format_ == "json":
        document = [setting._asdict() for setting in settings]
        sys.stdout.write(json.dumps({"configuration": config.origin or None, "settings": document}, indent=2) + "\n")
        return ExitCode.OK
    name = max(len(setting.name) for setting in settings)
    sys.stdout.write(f"configuration file: {printable(config.origin) or 'none'}\n")
    for setting in settings:
        sys.stdout.write(printable(f"{setting.name:{name}} = {setting.value}  ({setting.origin})") + "\n")
    return ExitCode.OK


def _connection_settings(given: Mapping[str, Any], config: Configuration) -> Iterator[ShownSetting]:
    options = connection_options(given)
    settings = resolve_connection(options, config)
    named = options.server or options.context or os.environ.get("NATS_URL") or os.environ.get("NATS_CONTEXT")
    file = {} if named else {"servers": config.server, "context_name": config.contexts}
    file["timeout_s"] = None if options.timeout is not None or os.environ.get("NATS_TIMEOUT") else config.timeout_ns  # type: ignore[assignment]
    file["budget"] = None if options.budget else config.budget  # type: ignore[assignment]

    def row(name: str, field: str, value: object) -> ShownSetting:
        return ShownSetting(name, str(value), config.origin if file.get(field) else settings.origins[field])

    yield row("server", "servers", ", ".join(settings.servers))
    contexts = [login.context_name or "none" for login in resolve_logins(options, config)]
    yield row("context", "context_name", ", ".join(contexts))
    in_url = settings.origins["login"] == _DEFAULT and any(settings.server_logins)
    is_given = in_url or settings.origins["login"] != _DEFAULT
    yield row("login", "servers" if in_url else "login", "given, not shown" if is_given else "none")
    for name in ("tls_cert", "tls_key", "tls_ca"):
        if getattr(settings, name):
            yield row(name.replace("_", ""), name, getattr(settings, name))
    yield row("tlsfirst", "tls_first", str(settings.tls_first).lower())
    yield row("js-api-prefix", "js_api_prefix", settings.js_api_prefix)
    yield row("inbox-prefix", "inbox_prefix", settings.inbox_prefix)
    yield row("timeout", "timeout_s", quantity(int(settings.timeout_s * 1e9), "duration"))
    yield row("budget", "budget", f"{settings.budget} requests/s" if settings.budget else "no limit")


def _run_settings(config: Configuration) -> Iterator[ShownSetting]:
    if config.environment:
        environment = config.environments[config.environment]
        yield ShownSetting("environment", config.environment, f"{config.origin}:{environment.line}")
    samples, interval_s = pace(LiveRequest(), config)
    interval = quantity(int(interval_s * 1e9), "duration")
    yield _setting("samples", samples, config.samples, config)
    yield _setting("interval", interval, config.interval_ns, config)
    monitor = tuple(parse_monitor_url(url).base for url in config.monitor or ())
    lists = {"monitor": monitor, "ntp": config.ntp, "select": config.select, "extend-select": config.extend_select}
    lists |= {"ignore": config.ignore, "rule-directories": config.rule_directories}
    for name, values in lists.items():
        yield _setting(name, ", ".join(values or ()) or "none", values or None, config)
    yield _setting("fail-on", (config.fail_on or Severity.ERROR).value, config.fail_on, config)
    examples = DEFAULT_MAX_EXAMPLES if config.max_examples is None else config.max_examples
    yield _setting("max-examples", examples, config.max_examples, config)
    yield _setting("baseline", config.baseline or "none", config.baseline, config)
    yield _setting("docs-url", config.docs_url or "none", config.docs_url, config)
    for option, value in config.options.items():
        yield ShownSetting(option, _without_secrets(option, value), config.origin)


def _without_secrets(option: str, value: object) -> str:
    """A value of a source's option: headers are not shown, nor values of Spark settings, nor parameters of its URL."""
    values = [str(each) for each in value] if isinstance(value, list) else [str(value)]
    if option.endswith(_SECRET_SUFFIX):
        return "given, not shown"
    if option == "conf":
        values = [f"{each.partition('=')[0]}=…" for each in values]
    if option == "remote":
        values = [each.partition(";")[0] for each in values]
    return ", ".join(map(scrub_line, values))


def _setting(name: str, value: object, configured: object, config: Configuration) -> ShownSetting:
    return ShownSetting(name, str(value), _DEFAULT if configured is None else config.origin)


def _rule_parameters(config: Configuration, rulebook: Rulebook, every: bool) -> Iterator[ShownSetting]:
    values = overrides(rulebook.rules, config.rule_settings, config.origin)
    lines = {(setting.rule.upper(), setting.param): setting.line for setting in config.rule_settings}
    lines |= {
        (rule.code, setting.param): setting.line
        for setting in config.rule_settings
        for rule in rulebook.rules
        if rule.slug == setting.rule.lower()
    }
    for rule in rulebook.rules:
        given = values.get(rule.code, {})
        for name, param in rule.params.items():
            if name not in given and not every:
                continue
            value = given.get(name, param.default)
            shown = "none" if value is None else quantity(value, param.unit)
            origin = f"{config.origin}:{lines[rule.code, name]}" if name in given else _DEFAULT
            yield ShownSetting(f"{rule.code}.{name}", shown, origin)


def _waiver_settings(config: Configuration, rulebook: Rulebook) -> Iterator[ShownSetting]:
    for waiver in resolve_waivers(config.waivers, rulebook.rules):
        text = f"{waiver.subject} until {waiver.expires}: {waiver.reason}"
        yield ShownSetting(f"suppress {waiver.rule}", text, f"{waiver.origin}:{waiver.line}")


def _severity_settings(config: Configuration, rulebook: Rulebook) -> Iterator[ShownSetting]:
    severities_of(config.severities, rulebook.rules, config.origin)  # what a run would refuse is refused here
    for rule, (severity, line) in {rule: (severity, line) for rule, severity, line in config.severities}.items():
        yield ShownSetting(f"severity {rule}", severity.value, f"{config.origin}:{line}")


def _policy_settings(config: Configuration) -> Iterator[ShownSetting]:
    for policy in config.policies:
        yield ShownSetting(f"policy {policy.code}", policy.title, f"{policy.origin}:{policy.line}")

"""Predicates of policies: conditions that a team's configuration sets on fields of streams and consumers.

A policy is judged on the live configuration and on manifests alike. Its checks are made when a configuration file
declares it; no rule page names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import Check
from jsdoctor.model.finding import BY_HAND, Finding, failed, passed, unknown
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, Manifests
from jsdoctor.model.policy import METADATA, Condition, Policy, attribute_of, limits, policy_fields
from jsdoctor.model.setting import FieldKind
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.wording import span


def policy_checks(policy: Policy) -> tuple[Check, ...]:
    """The predicates of a policy: on the deployment, and on manifests."""

    def deployed(snapshots: SnapshotSeries) -> Iterator[Finding]:
        for asset in _assets(policy, snapshots):
            if not _applies(policy, asset.subject.account, asset.subject.stream, asset.name, asset.config):
                continue
            broken = _violations(policy, asset.config)
            yield (
                failed(
                    asset.subject,
                    _message(policy, broken),
                    *(asset.observed(f"config.{name}", value) for name, value, _ in broken),
                    remedy=BY_HAND,
                )
                if broken
                else passed(asset.subject)
            )

    def declared(manifests: Manifests) -> Iterator[Finding]:
        assets: Iterator[DeclaredStream] | Iterator[DeclaredConsumer]
        assets = manifests.kept_streams() if policy.on == "stream" else manifests.kept_consumers()
        for asset in assets:
            config = asset.stored
            if not _applies(policy, asset.account, asset.subject.stream, asset.name, config):
                continue
            if unsure := indeterminate(asset, *policy.conditions) or _unreadable(policy, asset):
                yield unsure
            elif broken := _violations(policy, config):
                yield failed(
                    asset.subject,
                    _message(policy, broken),
                    *(asset.shows(name.partition(".")[0], shown) for name, shown, _ in broken),
                    remedy=BY_HAND,
                )
            else:
                yield passed(asset.subject)

    name = f"policy.{policy.code}"
    return (
        Check(name, deployed, {"snapshots": SnapshotSeries}, {}, takes_params=False),
        Check(f"{name}_declared", declared, {"manifests": Manifests}, {}, takes_params=False),
    )


def _unreadable(policy: Policy, asset: DeclaredStream | DeclaredConsumer) -> Finding | None:
    """`unknown` if the declaration states a field of the policy that is not read from this kind of manifest."""
    if unread := sorted(asset.unread & {name.partition(".")[0] for name in policy.conditions}):
        reason = f"{unread[0]} is not read of this kind of manifest"
        return unknown(asset.subject, reason, "apply it, then check the deployment")
    return None


def _assets(policy: Policy, snapshots: SnapshotSeries) -> Iterator[Stream | Consumer]:
    for stream in snapshots.last.streams:
        if policy.on == "stream":
            yield stream
        else:
            yield from stream.consumers


def _applies(policy: Policy, account: str, stream: str, name: str, config: StreamConfig | ConsumerConfig) -> bool:
    """Whether the policy is for this asset. A manifest without an account matches every account."""
    of_account = not account or fnmatchcase(account, policy.account)
    labels = config.metadata
    return (
        fnmatchcase(stream, policy.stream)
        and of_account
        and fnmatchcase(name, policy.name)
        and all(labels.get(key) == value for key, value in policy.metadata.items())
    )


def _violations(policy: Policy, config: StreamConfig | ConsumerConfig) -> list[tuple[str, str, str]]:
    """Each condition that does not hold: the field, its value, and what is demanded, as text."""
    kinds = policy_fields(policy.on)
    problems = []
    for name, condition in policy.conditions.items():
        if name.startswith(METADATA):
            value: Any = config.metadata.get(name.removeprefix(METADATA), "")
            kind = FieldKind.TEXT
        else:
            value, kind = getattr(config, attribute_of(policy.on, name)), kinds[name]
        if demand := _demand(name, kind, value, condition):
            problems.append((name, _shown(name, kind, value), demand))
    return problems


def _demand(name: str, kind: FieldKind, value: Any, condition: Condition) -> str:
    """What is demanded of a value that does not meet its condition; empty where it does."""
    unlimited = name in limits() and value <= 0
    if condition.required and (unlimited or (name not in limits() and value in ("", (), 0))):
        return "must be set"
    if condition.max is not None and (unlimited or value > condition.max):
        return f"must be at most {_shown(name, kind, condition.max)}"
    if condition.min is not None and not unlimited and value < condition.min:
        return f"must be at least {_shown(name, kind, condition.min)}"
    values = value if isinstance(value, tuple) else (value,)
    if condition.one_of is not None and any(value not in condition.one_of for value in values):
        return "must be " + " or ".join(_shown(name, kind, value) for value in condition.one_of)
    if condition.pattern and not all(re.fullmatch(condition.pattern, value) for value in values if value):
        return f"must match {condition.pattern}"
    return ""


def _shown(name: str, kind: FieldKind, value: Any) -> str:
    if name in limits() and value in (0, -1):
        return "unlimited"
    if kind is FieldKind.DURATION:
        return span(value)
    if isinstance(value, tuple):
        return ", ".join(value) or "empty"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else value or "not set"


def _message(policy: Policy, broken: list[tuple[str, str, str]]) -> str:
    stated = "; ".join(f"{name} is {shown} and {demand}" for name, shown, demand in broken)
    return f"{stated}{f' ({policy.url})' if policy.url else ''}"

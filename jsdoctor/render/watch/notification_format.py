"""The formats of notifications: a module of its own, because the command line needs no more to read its options."""

from __future__ import annotations

from enum import StrEnum


class NotificationFormat(StrEnum):
    """What the receiver of a notification understands."""

    JSON = "json"
    SLACK = "slack"
    ALERTMANAGER = "alertmanager"

"""Sending notifications: each change once to each receiver, and again where a receiver was away."""

from __future__ import annotations

import threading
from collections import deque

from jsdoctor.app.watch.receiver import Receiver
from jsdoctor.collect.problems import Problem
from jsdoctor.collect.webhook import post_json
from jsdoctor.render.watch.notification import Notification, body
from jsdoctor.render.watch.notification_format import NotificationFormat

_MAX_WAITING = 100
"""Bodies kept for a receiver that is away; older ones are given up."""


class Notifier:
    """Posts in the background, in the order of the checks, so that a slow receiver delays no check."""

    def __init__(self, receivers: tuple[Receiver, ...]) -> None:
        self._waiting: dict[Receiver, deque[str]] = {one: deque(maxlen=_MAX_WAITING) for one in receivers}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.problem = ""

    def send(self, notification: Notification) -> None:
        """Queue what each receiver is to be told, and post it along with what still waits."""
        with self._lock:
            for receiver, waiting in self._waiting.items():
                text = body(notification, receiver.format)
                if receiver.format is NotificationFormat.ALERTMANAGER and not notification.changes and waiting:
                    continue  # an older body waits, and a newer one without changes adds nothing
                if text:
                    waiting.append(text)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._post_all, name="notify", daemon=True)
            self._thread.start()

    def finish(self, timeout_s: float) -> None:
        """Wait until everything is posted, or until the time is over."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _post_all(self) -> None:
        problems = [problem for receiver in self._waiting if (problem := self._post(receiver))]
        self.problem = "; ".join(problems)

    def _post(self, receiver: Receiver) -> str:
        """Post what waits for one receiver. The problem that stopped it, or an empty string."""
        waiting = self._waiting[receiver]
        while waiting:
            with self._lock:
                text = waiting[0]
            try:
                post_json(receiver.url, text)
            except Problem as problem:
                return problem.message
            with self._lock:
                if waiting and waiting[0] is text:
                    waiting.popleft()
        return ""

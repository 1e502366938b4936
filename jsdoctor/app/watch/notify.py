"""Sends notifications: each change once to each receiver, and again if a receiver was unreachable."""

from __future__ import annotations

import threading
from collections import deque

from jsdoctor.app.watch.request import Receiver
from jsdoctor.app.watch.webhook import BodyProblem, post_json
from jsdoctor.model.problems import Problem
from jsdoctor.render.watch.notification import Notification, body
from jsdoctor.render.watch.notification_format import NotificationFormat

_MAX_WAITING = 100
"""Maximum number of bodies kept for an unreachable receiver; older ones are discarded."""


class Notifier:
    """Posts in the background, in the order of the checks, so that a slow receiver delays no check."""

    def __init__(self, receivers: tuple[Receiver, ...]) -> None:
        self._waiting: dict[Receiver, deque[str]] = {receiver: deque(maxlen=_MAX_WAITING) for receiver in receivers}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._posting = False
        self.problem = ""

    def send(self, notification: Notification) -> None:
        """Queue the body for each receiver, and post it together with those that still wait."""
        with self._lock:
            for receiver, waiting in self._waiting.items():
                text = body(notification, receiver.format)
                if receiver.format is NotificationFormat.ALERTMANAGER and not notification.changes and waiting:
                    continue  # an older body waits, and a newer one without changes adds nothing
                if text:
                    waiting.append(text)
            starts = not self._posting or self._thread is None or not self._thread.is_alive()
            self._posting = True
        if starts:
            self._thread = threading.Thread(target=self._post_all, name="notify", daemon=True)
            self._thread.start()

    def finish(self, timeout_s: float) -> None:
        """Wait until everything is posted, or until the time is over."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _post_all(self) -> None:
        """Post until nothing waits, but for receivers that could not be reached."""
        while True:
            problems = {receiver: problem for receiver in self._waiting if (problem := self._post(receiver))}
            self.problem = "; ".join(problems.values())
            with self._lock:
                if not any(waiting and receiver not in problems for receiver, waiting in self._waiting.items()):
                    self._posting = False
                    return

    def _post(self, receiver: Receiver) -> str:
        """Post the queued bodies of one receiver. Returns the last problem, or an empty string.

        A body that it refuses is discarded, so that it holds up no later one.
        """
        waiting, refused = self._waiting[receiver], ""
        while waiting:
            with self._lock:
                text = waiting[0]
            try:
                post_json(receiver.url, text)
            except BodyProblem as problem:
                refused = problem.message
            except Problem as problem:
                return problem.message
            with self._lock:
                if waiting and waiting[0] is text:
                    waiting.popleft()
        return refused

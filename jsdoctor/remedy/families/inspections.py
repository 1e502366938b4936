"""Actions that a person decides: their commands read the state and change nothing."""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.model.finding import Subject
from jsdoctor.remedy.operation import Action, Values, command, shell_commands


class Inspection(Action):
    """What to look for, and the commands that show it: lines for `typed`, whose words are values or `defaults`."""

    def __init__(self, name: str, look_for: str, *lines: str, **defaults: str) -> None:
        self.name, self.look, self._lines, self._defaults = name, look_for, lines, defaults

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        return shell_commands(subject, *self.lines(subject, values), **{**self._defaults, **values})

    def lines(self, subject: Subject, values: Values) -> Iterable[str]:
        """The lines for this subject."""
        return self._lines


class _Group(Inspection):
    """The Raft group of a stream or consumer, and the servers that should hold it.

    `unanswered`: no server responds for the asset, so `info` of it times out; lists name it as inaccessible.
    """

    def lines(self, subject: Subject, values: Values) -> Iterable[str]:
        if values.get("unanswered"):
            shows = {"consumer": "nats consumer report {stream}", "stream": "nats stream ls"}
        else:
            shows = {"consumer": "nats consumer info {stream} {name}", "stream": "nats stream info {name}"}
        return shows.get(subject.kind, "nats server list"), "nats server report jetstream"


class _Storage(Inspection):
    """What fills the storage. Which stream may lose messages is for a person to decide."""

    def lines(self, subject: Subject, values: Values) -> Iterable[str]:
        of_account = subject.kind == "account"
        return "nats account info" if of_account else "nats server report jetstream", "nats stream report"


class _Clock(Inspection):
    """The clock of the server's host; then the leaders of `streams` move away, to `to` if it is given."""

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        to = (f"--preferred={values['to']}",) if values.get("to") else ()
        moves = [command("nats", "stream", "cluster", "step-down", name, *to) for name in values.get("streams", ())]
        return (*super().commands(subject, values), *moves)


class _Pod(Inspection):
    """What Kubernetes did with the pod, or with all pods if a finding is about several."""

    def lines(self, subject: Subject, values: Values) -> Iterable[str]:
        inside = " -n {namespace}" if "namespace" in values else ""
        if subject.kind != "server":
            return (f"kubectl get pods,pdb -o wide{inside}",)
        return f"kubectl describe pod {{name}}{inside}", f"kubectl logs {{name}} --previous{inside}"


class _Origins(Inspection):
    """Values: `origins`, streams of the account that do not arrive. `some_are_missing`: others do not exist."""

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        names = dict.fromkeys((subject.name, *values.get("origins", ())))
        listed = (command("nats", "stream", "ls"),) if values.get("some_are_missing") else ()
        return (*(command("nats", "stream", "info", name) for name in names), *listed)


class _Dates(Inspection):
    """Read the messages of `sequences`, which show when they were stored. No stored date can be changed."""

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        messages = (command("nats", "stream", "get", subject.name, str(seq)) for seq in values.get("sequences", ()))
        return (*messages, command("nats", "stream", "info", subject.name))


_CLOSED = "nats server report connections --state closed --top 20 --closed-reason {reason}"
_CLOCK = ("chronyc tracking", "timedatectl")

ACTIONS: tuple[Action, ...] = (
    Inspection("none", ""),  # the rule page describes what to do
    Inspection(
        "stream.look_at_consumers",
        "see which subjects have messages that no consumer receives",
        "nats consumer report {name}",
        "nats stream subjects {name}",
    ),
    Inspection(
        "stream.look_at_replicas",
        "see which servers hold a replica, and which of them are behind or offline",
        "nats stream info {name}",
        "nats stream report",
    ),
    Inspection(
        "stream.look_at_head",
        "see what keeps the first message in the stream",
        "nats stream info {name}",
        "nats stream get {name} {first_seq}",
    ),
    Inspection("stream.inspect", "see its configuration and its state", "nats stream info {name}"),
    Inspection(  # the full list of subjects may be very long
        "stream.look_at_subjects",
        "see which part of the subjects varies, and which of them may go",
        "nats stream info {name}",
        "nats stream report",
    ),
    _Origins("stream.look_at_origins", "see whether each origin exists, and how far its copy is behind"),
    _Dates("stream.look_at_dates", "see when the messages were stored, and by which server"),
    Inspection(
        "consumer.inspect",
        "see whether applications fetch and acknowledge: waiting pulls, outstanding acknowledgements",
        "nats consumer info {stream} {name}",
        "nats stream info {stream}",
    ),
    Inspection(  # it is gone; where a new one starts is for a person to decide
        "consumer.look_for",
        "see which consumers are left, and whether their owner deleted this one on purpose",
        "nats consumer report {stream}",
        "nats stream info {stream}",
    ),
    Inspection(
        "cluster.inspect_members",
        "see which servers are missing or offline, and since when",
        "nats server list",
        "nats server report jetstream",
    ),
    _Group("cluster.inspect_group", "see which servers hold it, which of them respond, and which one leads"),
    Inspection(
        "cluster.compare_servers",
        "see in which settings the servers differ",
        "nats server list",
        "nats server request variables",
    ),
    Inspection(
        "server.inspect_health",
        "see which server is unhealthy, and why",
        "nats server report health",
        "nats server report jetstream",
    ),
    _Storage("server.inspect_storage", "see what fills the storage, and which of it may go"),
    Inspection(
        "server.inspect_clock", "see whether the clock is synchronised, by which source, and how far it is off", *_CLOCK
    ),
    _Clock(
        "server.correct_clock",
        "see whether the clock is synchronised, and correct it before the server leads again",
        *_CLOCK,
    ),
    Inspection(  # a slow route or gateway is in the log only
        "server.inspect_slow",
        "see which connections are closed as too slow, and from which host",
        _CLOSED,
        "nats server report routes",
        reason="Slow Consumer (Pending Bytes)",
    ),
    Inspection(
        "server.inspect_closed",
        "see which clients are closed for that reason, and from which host",
        _CLOSED,
        reason="Authentication Failure",
    ),
    Inspection(
        "server.inspect_connections",
        "see which clients connect again and again, and from which host",
        "nats server report connections --top 20",
        "nats server report connections --top 20 --state closed",
    ),
    Inspection(
        "server.inspect_load",
        "see which server carries the load, and which clients cause it",
        "nats server report cpu",
        "nats server report mem",
        "nats server report connections --sort in-msgs --top 20",
    ),
    Inspection(  # the events name the clients that send requests
        "server.inspect_api",
        "see which clients send requests to the API, and how often",
        "nats server report jetstream --sort api",
        "nats events --js-advisory --all",
    ),
    Inspection(
        "server.renew_certificate",
        "see which certificate the server uses and when it ends; then renew it and reload",
        "nats server list",
        "nats server info {name}",
    ),
    Inspection(
        "server.look_at_sync",
        "see which streams write most, and decide between speed and safety",
        "nats server report jetstream",
        "nats stream report",
    ),
    Inspection(  # its limits are in its JWT, which its operator signs
        "server.look_at_account",
        "see which streams and connections use the limits of the account",
        "nats server report accounts",
        "nats server report connections --account={name}",
    ),
    _Pod("server.inspect_pod", "see why Kubernetes ended or did not start the pod"),
)

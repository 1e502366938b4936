"""The request of `jsdoctor diagnose`: a symptom as text, code or name, its subject, and where to collect."""

from __future__ import annotations

from dataclasses import dataclass

from jsdoctor.app.request import AnswerRequest, ConfigurationRequest, JudgeRequest, SymptomRequest
from jsdoctor.model.diagnosis import Narrowing
from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.base import Role, Source
from jsdoctor.sources.listing import sources_of
from jsdoctor.sources.request import EvidenceRequest


@dataclass(frozen=True, kw_only=True)
class DiagnoseRequest(SymptomRequest, AnswerRequest, ConfigurationRequest):
    """The options of the command line. None or empty: not given.

    `problem_lines` are the lines of files and of standard input that may describe a problem.
    """

    text: str = ""
    problem_lines: str = ""
    wanted: EvidenceRequest = EvidenceRequest()  # noqa: RUF009 - frozen, so one shared instance is safe

    @property
    def narrowing(self) -> Narrowing:
        """What the symptom is about."""
        return Narrowing(self.stream, self.consumer, self.expected_seq, self.msg_id)

    @property
    def has_files(self) -> bool:
        """Whether files were given that rules judge."""
        return any(
            source.provides or (source.role is Role.DEPLOYMENT and not source.connects) for source in self.sources
        )

    @property
    def is_only_a_question(self) -> bool:
        """Whether there is nothing to read: files, if any, have only the words of the question."""
        return not self.sources

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources to read. Raises `UsageProblem` for one that cannot be read."""
        return sources_of(self.wanted)

    def judge(self, rules: tuple[str, ...] = ()) -> JudgeRequest:
        """The request to judge by these rules."""
        return JudgeRequest(select=rules, quiet=self.quiet, **vars(self.configuration))


def refuse_contradictions(request: DiagnoseRequest) -> None:
    """Raises `UsageProblem` for what does not fit together."""
    _ = request.outputs
    named = [request.text.strip(), request.code, request.symptom]
    if sum(bool(item) for item in named) > 1:
        raise UsageProblem("a text, --code and --symptom all name a symptom", "give one of them")
    given = request.problem_lines or request.has_files or request.wanted.unrecognised
    if not (any(named) or request.probe or given):
        raise UsageProblem(
            "there is nothing to diagnose",
            'give the error as one argument: jsdoctor diagnose "nats: wrong last sequence: 5123"\n'
            "or files of any kind: jsdoctor diagnose nats.log jsz.json\n"
            "or a line of a log on stdin: jsdoctor diagnose -\nor --code 10071, or --symptom SLUG",
        )
    if request.narrowing.consumer and not request.narrowing.stream:
        raise UsageProblem("--consumer needs --stream", "consumers of different streams may have the same name")
    if request.probe and not _publishable(request.probe):
        raise UsageProblem(
            f"--probe {request.probe!r} is no subject that an application publishes to",
            "name one subject in full: no wildcards, no blanks, none of servers or replies ($JS, $SYS, _INBOX)",
        )
    if request.offline and request.probe:
        raise UsageProblem("--offline opens no connection, --probe asks servers", "leave one of them away")
    connecting = [option for source in request.sources if source.connects for option in source.options]
    if request.offline and connecting:
        raise UsageProblem(f"--offline opens no connection, {connecting[0]} does", "leave one of them away")
    if request.narrowing.expected_seq is not None and not (request.narrowing.stream or request.probe):
        raise UsageProblem("--expected-seq needs --stream", "name the stream whose last sequence was expected")


def _publishable(subject: str) -> bool:
    """Whether this is a subject without wildcards, and none that servers and clients use themselves."""
    tokens = subject.split(".")
    literal = all(token and token.isprintable() and not set(token) & set("*> ") for token in tokens)
    return literal and tokens[0] not in ("$JS", "$JSC", "$NRG", "$SYS", "_INBOX")

"""Input of `jsdoctor diagnose` without options: text, files, directories and standard input, in any mixture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from jsdoctor.app.pieces import STDIN, Piece, pieces_of, routed
from jsdoctor.engine.passages import passages
from jsdoctor.model.rule import Rule
from jsdoctor.sources.file_kinds import FileKind
from jsdoctor.sources.request import EvidenceRequest

_MAX_QUESTION_LINES = 3
"""Maximum number of lines of a text that is only a question. A longer one is also evidence: rules judge it as a log."""

_MAX_LINES, _MAX_LINE_LENGTH, _MAX_PATH_LENGTH = 400, 1000, 4096
_MAX_PROSE = 32 * 1024
"""Prose stands at the beginning: what a person wrote before the lines of a program."""

_NUMBERS = re.compile(r"\d+|\b[0-9a-fA-F]{8,}\b|\b[A-Z0-9]{20,}\b")
_PROBLEM_WORDS = re.compile(
    r"\[(?:WRN|ERR|FTL)\]|error|fail|exception|timed? ?out|refus|denied|nats:|no responders|not found|violation|alert"
    r"|unavailable|exceed|mismatch|slow|lost|stale|panic|crash|backoff|oom|evicted|unhealthy|wrong|insufficient|invalid"
    r"|reset|reconnect|disconnect|broken"
    r"|nats/(?:aio|js)/"  # the frames of nats-py in a traceback
    r"|nats-server/(?:v2/)?server\."  # the frames of a server that panicked
    r"|outdated|offline|\bleader:\s*$|\w!\s*[,|│]"  # replicas in pages and tables of nats
    r"|not (?:allowed|permitted|supported|enabled)|missed|missing|corrupt|conflict|disabled|deleted"
    r"|stall|no quorum|no leader|\bfull\b|1\d{4}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class GivenText:
    """The words of the user, the given pieces of evidence, and the lines of these that may describe a problem.

    `files`: some of it is from named files, not from standard input.
    """

    words: str
    evidence: tuple[Piece, ...] = ()
    problem_lines: str = ""
    files: bool = False

    def added_to(self, wanted: EvidenceRequest) -> EvidenceRequest:
        """The request with the evidence of these texts."""
        return replace(routed(wanted, self.evidence), files=self.files)


def _is_evidence(piece: Piece) -> bool:
    """Whether rules judge a piece. A few lines of text, and text that no rule reads, are part of the question."""
    if not piece.text.strip():
        return True
    return FileKind.REPLY in piece.kinds or (bool(piece.kinds) and piece.text.count("\n") > _MAX_QUESTION_LINES)


def given_texts(words: Sequence[str], logs: Sequence[str], rules: Sequence[Rule]) -> GivenText:
    """Separate names of files from words. `logs` are paths of `--logs`: without words, their lines are the symptom."""
    paths = [word for word in words if _is_input(word, len(words))]
    pieces = pieces_of(paths, rules) if paths else []
    evidence = tuple(piece for piece in pieces if _is_evidence(piece))
    questions = [piece.text for piece in pieces if not _is_evidence(piece)]
    text = "\n".join([" ".join(word for word in words if word not in paths), *questions]).strip()
    # Paths of --logs are read as logs already; here only their words count.
    lines = evidence or tuple(pieces_of([path for path in logs if Path(path).exists()], rules)) if not text else ()
    return GivenText(text, evidence, problem_lines_of([piece.text for piece in lines]), paths != [STDIN] * len(paths))


def _is_input(word: str, words: int) -> bool:
    """Whether a word names a file or stdin. In a sentence, only words with a slash or dot count."""
    if word == STDIN:
        return True
    if "\n" in word or len(word) > _MAX_PATH_LENGTH or "\0" in word:
        return False
    return (words == 1 or "/" in word or "." in word) and Path(word).exists()


def problem_lines_of(texts: Sequence[str]) -> str:
    """The prose of texts, and their lines that may describe a problem: each wording once, the most frequent last."""
    counts: Counter[str] = Counter()
    example: dict[str, str] = {}
    for text in texts:
        for line in text.splitlines():
            shape = _NUMBERS.sub("N", line[:_MAX_LINE_LENGTH])
            counts[shape] += 1
            example.setdefault(shape, line[:_MAX_LINE_LENGTH])
    suspicious = [shape for shape, _ in counts.most_common() if _PROBLEM_WORDS.search(example[shape])]
    prose = [passage for text in texts for passage, _ in passages(text[:_MAX_PROSE])]
    return "\n\n".join([*prose, "\n".join(example[shape] for shape in reversed(suspicious[:_MAX_LINES]))])

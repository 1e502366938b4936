"""Whom lines of applications are about: the consumer or stream that they name, else the application itself."""

from __future__ import annotations

from collections.abc import Mapping

from jsdoctor.checks.logs.words import subject_of
from jsdoctor.model.finding import Subject


def client_of(fields: Mapping[str, str], logged_by: str) -> Subject:
    """As `subject_of`, but who logged the line is a client."""
    subject = subject_of(fields, logged_by)
    return Subject(kind="client", name=subject.name) if subject.kind == "server" else subject

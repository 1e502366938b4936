"""Messages of wrong usage repeat what was given, which may be a secret in a wrong place: they are redacted, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup


class RedactingGroup(TyperGroup):
    """The commands. Whatever the parser says of their arguments has no secrets that show themselves."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Parse the options of the group itself."""
        with _redacted():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Parse what is given to the command, and run it."""
        with _redacted():
            return super().invoke(ctx)


@contextmanager
def _redacted() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):  # a ClickException, whichever copy of click typer brings
            from jsdoctor.parse.redact import scrub_line

            error.message = scrub_line(str(getattr(error, "message", "")))  # type: ignore[attr-defined]
        raise

"""Every problem that ends a run: the message for the user, and the exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable

from jsdoctor.cli.console import ascii_only, say
from jsdoctor.configuration.file import ConfigurationError
from jsdoctor.demo.errors import BinaryNotFoundError, ServerStartError
from jsdoctor.engine.select import SelectionError
from jsdoctor.engine.verdict import ExitCode, NagiosState
from jsdoctor.model.problems import Problem, UsageProblem
from jsdoctor.pages.front_matter import PageError


def guarded(work: Callable[[], ExitCode | NagiosState], nagios: bool = False) -> ExitCode | NagiosState:
    """Run a command; turn every error into one message and an exit code. Never a traceback.

    With `nagios`, everything that ends the run early is UNKNOWN, and is also printed on stdout, where Nagios reads it.
    """
    if not nagios:
        return _guarded(work, say)
    reported: list[str] = []

    def report(message: str, hint: str = "") -> None:
        reported.append(message)
        say(message, hint)

    code = _guarded(work, report)
    if reported:
        from jsdoctor.redaction.redact import scrub_line
        from jsdoctor.render.formats.nagios import unknown_line

        sys.stdout.write(unknown_line(scrub_line("; ".join(reported)), ascii_only(sys.stdout)))
    return code if isinstance(code, NagiosState) else NagiosState.UNKNOWN


def _guarded(work: Callable[[], ExitCode | NagiosState], report: Callable[..., None]) -> ExitCode | NagiosState:
    try:
        return work()
    except Problem as problem:
        report(problem.message, problem.hint)
        return ExitCode.USAGE if isinstance(problem, UsageProblem) else ExitCode.INCONCLUSIVE
    except SelectionError as error:
        report(str(error), "jsdoctor rules list shows every code and slug")
        return ExitCode.USAGE
    except (ConfigurationError, PageError) as error:
        for problem_line in error.problems:
            report(problem_line)
        return ExitCode.USAGE
    except (BinaryNotFoundError, ServerStartError) as error:
        report(str(error))
        return ExitCode.INCONCLUSIVE
    except KeyboardInterrupt:
        report("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader is gone (`jsdoctor … | head`): there is nothing more to print or to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except Exception as error:  # noqa: BLE001 - the last resort: a bug of ours must not look like a finding
        return _unexpected(error, report)


def _unexpected(error: Exception, report: Callable[..., None]) -> ExitCode:
    """Report an error that nothing has handled: a bug, or a file or host name that cannot exist."""
    if os.environ.get("JSDOCTOR_DEBUG"):
        traceback.print_exc()
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        report("a file name that was given is longer than this system allows", "check the paths")
        return ExitCode.USAGE
    if isinstance(error, UnicodeError) and "idna" in str(error):
        report("a host name that was given is no valid name", "check the URLs")
        return ExitCode.USAGE
    kind = f"{type(error).__name__}: {error}"
    report(f"internal error, a bug in jsdoctor: {kind}", "run again with JSDOCTOR_DEBUG=1 and report what it prints")
    return ExitCode.INTERNAL

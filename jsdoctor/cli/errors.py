"""Every problem that ends a run: what the person is told, and the exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

from jsdoctor.cli.console import say
from jsdoctor.collect.problems import Problem, UsageProblem
from jsdoctor.demo.server import BinaryNotFoundError, ServerStartError
from jsdoctor.engine.select import SelectionError
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.parse.configuration import ConfigurationError
from jsdoctor.parse.rule_page import PageError


def guarded(work: Callable[[], ExitCode]) -> ExitCode:
    """Run a command; turn whatever goes wrong into one message and an exit code. Never a traceback."""
    try:
        return work()
    except Problem as problem:
        say(problem.message, problem.hint)
        return ExitCode.USAGE if isinstance(problem, UsageProblem) else ExitCode.INCONCLUSIVE
    except SelectionError as error:
        say(str(error), "jsdoctor rules list shows every code and slug")
        return ExitCode.USAGE
    except (ConfigurationError, PageError) as error:
        for problem_line in error.problems:
            say(problem_line)
        return ExitCode.USAGE
    except (BinaryNotFoundError, ServerStartError) as error:
        say(str(error))
        return ExitCode.INCONCLUSIVE
    except KeyboardInterrupt:
        say("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`jsdoctor … | head`): nothing more to say, and nothing more to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except Exception as error:  # noqa: BLE001 - the last resort: a bug of ours must not look like a finding
        if os.environ.get("JSDOCTOR_DEBUG"):
            traceback.print_exc()
        kind = f"{type(error).__name__}: {error}"
        say(f"internal error, a bug in jsdoctor: {kind}", "run again with JSDOCTOR_DEBUG=1 and report what it prints")
        return ExitCode.INTERNAL

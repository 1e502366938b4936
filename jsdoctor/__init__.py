"""jsdoctor: diagnosis and remediation for NATS JetStream. docs/api.md documents the Python interface."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
"""What typing calls so: typing itself takes as long to load as `jsdoctor --help` to print."""

if TYPE_CHECKING:
    from typing import Any

    from jsdoctor.app.api import (
        CheckResult,
        DiagnosisResult,
        FixPlan,
        Judgement,
        PreflightResult,
        audit,
        check,
        diagnose,
        plan_fix,
        preflight,
    )
    from jsdoctor.model.finding import Severity
    from jsdoctor.model.problems import ConnectProblem, Problem, UsageProblem
    from jsdoctor.sources.connect.options import ConnectionOptions

__version__ = "0.1.0"

__all__ = [
    "CheckResult",
    "ConnectProblem",
    "ConnectionOptions",
    "DiagnosisResult",
    "FixPlan",
    "Judgement",
    "PreflightResult",
    "Problem",
    "Severity",
    "UsageProblem",
    "__version__",
    "audit",
    "check",
    "diagnose",
    "plan_fix",
    "preflight",
]

_ELSEWHERE = {
    "ConnectProblem": "jsdoctor.model.problems",
    "ConnectionOptions": "jsdoctor.sources.connect.options",
    "Problem": "jsdoctor.model.problems",
    "Severity": "jsdoctor.model.finding",
    "UsageProblem": "jsdoctor.model.problems",
}


def __getattr__(name: str) -> Any:
    """Load the interface when it is used: `jsdoctor --help` needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ELSEWHERE.get(name, "jsdoctor.app.api")), name)


def __dir__() -> list[str]:
    """The interface alone."""
    return list(__all__)

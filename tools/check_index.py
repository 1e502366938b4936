"""Writes `jsdoctor/checks/index.py`: what each check needs, so that a run imports only those that it uses.

python -m tools.check_index         (or: make check-index)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jsdoctor.checks import index
from jsdoctor.checks.registry import Check, load_checks

PATH = Path(index.__file__)
_TOP = '''"""Each check, its module and its evidence (`?`: taken if it is there). Written by `make check-index`."""

INDEX = """
'''


def written() -> str:
    """The module as it should be."""
    own = {name: check for name, check in load_checks().items() if _module(check).startswith("jsdoctor.checks.")}
    return _TOP + "".join(f"{_line(check)}\n" for _, check in sorted(own.items())) + '"""\n'


def _line(check: Check) -> str:
    return " ".join((check.name, _module(check).removeprefix("jsdoctor.checks."), *_parameters(check)))


def _parameters(check: Check) -> Iterator[str]:
    yield from (f"{name}={kind.__name__}" for name, kind in check.required.items())
    yield from (f"{name}?={kind.__name__}" for name, kind in check.optional.items())
    if check.takes_params:
        yield "params"


def _module(check: Check) -> str:
    return check.predicate.__module__


if __name__ == "__main__":
    PATH.write_text(written(), "utf-8")

"""What is made once and shared by many tests: a deployment with its faults, and the reports on it."""

from collections.abc import Callable, Hashable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def once(make: Callable[P, T]) -> Callable[P, T]:
    """Like `functools.cache`, but an exception is kept too.

    A deployment that could not be set up fails each test that needs it at once, instead of being set up again for
    each of them. Arguments are positional and hashable.
    """
    made: dict[Hashable, T] = {}
    failed: dict[Hashable, BaseException] = {}

    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        if args in failed:
            raise failed[args]
        if args not in made:
            try:
                made[args] = make(*args, **kwargs)
            except Exception as error:
                failed[args] = error
                raise
        return made[args]

    return remembered

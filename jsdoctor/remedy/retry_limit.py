"""Retries until a condition holds: leaders are elected, replicas copy, replies get lost. Times are seconds."""

from __future__ import annotations

from time import monotonic

from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.operation import Api, ApiError, LostError, NoResponseError, Operation, StepRefusedError

PAUSE_S = 0.5
_NOT_YET = {10008, 10009, 10013, 10118, 10119}
"""JetStream temporarily unavailable; no leader yet; stream or consumer offline for now (server errors.json)."""
_MIN_TRIES = 3


class RetryLimit:
    """The time limit of one step, which starts now. At least three attempts are made, however long each takes."""

    def __init__(self, patience_s: float) -> None:
        self._ends_at = monotonic() + patience_s
        self._tries = 0

    async def more(self) -> bool:
        """Wait a little; False when the time is over."""
        import asyncio

        self._tries += 1
        if self._tries >= _MIN_TRIES and monotonic() >= self._ends_at:
            return False
        await asyncio.sleep(PAUSE_S)
        return True


def is_transient(error: ApiError) -> bool:
    """Whether the server may accept the same request in a moment."""
    return error.err_code in _NOT_YET or (error.code == 503 and not error.err_code)


async def read_state(operation: Operation, step: Step, api: Api, limit: RetryLimit) -> Json:
    """The state of the asset, requested until a server responds.

    Raises StepRefusedError if it cannot be read, DeniedError, LostError; NoResponseError when the time is over.
    """
    while True:
        try:
            return await operation.read_state(step, api)
        except LostError:
            raise
        except NoResponseError:
            if not await limit.more():
                raise
        except ApiError as error:
            if not is_transient(error):
                raise StepRefusedError(str(error)) from None
            if not await limit.more():
                raise NoResponseError(str(error)) from None

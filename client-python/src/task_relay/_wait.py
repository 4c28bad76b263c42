from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ._flow import Flow, paused
from .types import EndedTask, OpenTask, Task

_PAUSE_S = 5.0
"""Pause after an answer without a change that came faster than this, e.g. through a proxy that removes the `ETag`."""


class WaitTimeoutError(TimeoutError):
    """A task did not end within `timeout_s`. The task goes on and may end later."""

    timeout_s: float
    task: OpenTask | None
    """The task as it was last read; None when no answer came."""

    def __init__(self, timeout_s: float, task: OpenTask | None) -> None:
        super().__init__(timeout_s, task)
        self.timeout_s = timeout_s
        self.task = task

    def __str__(self) -> str:
        return f"The task has not ended within {self.timeout_s:g} s."

    def __repr__(self) -> str:
        return f"WaitTimeoutError({str(self)!r})"


@dataclass(frozen=True)
class ReadState:
    """State of a task at one read."""

    task: Task | None
    """The task; None when it has not changed since the version whose ETag the read has sent."""
    etag: str | None
    """ETag of the answer; None when it has none."""


class ReadChange(Protocol):
    """Reads a task: at once, or with an `etag` as soon as the task differs from it, at the latest after a minute.

    Returns None when the clock `time.monotonic` has reached `end_at`.
    """

    def __call__(self, is_first: bool, etag: str | None, end_at: float) -> Flow[ReadState | None]: ...


def until_ended(
    read_change: ReadChange,
    timeout_s: float | None,
    on_change: Callable[[OpenTask], object] | None,
) -> Flow[EndedTask]:
    """Reads a task until it has ended. `on_change` gets each open state once.

    Raises WaitTimeoutError after `timeout_s`.
    """
    end_at = float("inf") if timeout_s is None else time.monotonic() + timeout_s
    last: OpenTask | None = None
    etag: str | None = None
    is_first = True
    while True:
        started_at = time.monotonic()
        state = yield from read_change(is_first, etag, end_at)
        if state is None:
            raise WaitTimeoutError(timeout_s or 0.0, last)
        task = state.task
        if task is not None:
            if task["status"] == "completed" or task["status"] == "failed":
                return task
            # The version of a task also changes with what its reader does not see.
            if task != last and on_change is not None:
                on_change(task)
            last = task
        is_news = task is not None and (state.etag is None or state.etag != etag)
        is_first, etag = False, state.etag
        now = time.monotonic()
        if now - started_at < _PAUSE_S and (etag is None or not is_news):
            yield from paused(max(0.0, min(_PAUSE_S, end_at - now)))

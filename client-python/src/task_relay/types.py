"""The types of the API that the client takes and returns: dictionaries, as JSON has them."""

from __future__ import annotations

from typing import TypeAlias

from .schema import (
    CompletedCallback,
    CompletedTask,
    FailedCallback,
    FailedTask,
    Issue,
    ListedTask,
    OpenTask,
    Problem,
    ProblemCode,
    ProgressCallback,
    RedeliveryOrder,
    RegisteredTask,
    Registration,
    Task,
    TaskEvent,
    TaskFilter,
    TaskPage,
    TaskStatus,
    UpstreamJob,
)

EndedTask: TypeAlias = CompletedTask | FailedTask
"""A task that has ended, in the form in which the relay returns it."""
FinishedTask: TypeAlias = CompletedCallback | FailedCallback
"""A task that has ended, in the form of the body of its callback."""
RunningTask: TypeAlias = ProgressCallback
"""A running task, in the form of the body of a progress callback."""

__all__ = [
    "EndedTask",
    "FinishedTask",
    "Issue",
    "ListedTask",
    "OpenTask",
    "Problem",
    "ProblemCode",
    "RedeliveryOrder",
    "RegisteredTask",
    "Registration",
    "RunningTask",
    "Task",
    "TaskEvent",
    "TaskFilter",
    "TaskPage",
    "TaskStatus",
    "UpstreamJob",
]

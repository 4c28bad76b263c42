"""Client of Task Relay: submits jobs, registers and awaits tasks, and verifies callbacks."""

from ._async_relay import AsyncTaskRelay
from ._problem import RelayProblem
from ._relay import TaskRelay
from ._submit import CallInit, Submission, SubmitInit
from ._verify import VerificationError, VerificationFailure, VerifiedCallback, verify
from ._wait import WaitTimeoutError
from .types import (
    EndedTask,
    FinishedTask,
    Issue,
    ListedTask,
    OpenTask,
    Problem,
    ProblemCode,
    RedeliveryOrder,
    RegisteredTask,
    Registration,
    RunningTask,
    Task,
    TaskEvent,
    TaskFilter,
    TaskStatus,
    UpstreamJob,
)

__all__ = [
    "AsyncTaskRelay",
    "CallInit",
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
    "RelayProblem",
    "RunningTask",
    "Submission",
    "SubmitInit",
    "Task",
    "TaskEvent",
    "TaskFilter",
    "TaskRelay",
    "TaskStatus",
    "UpstreamJob",
    "VerificationError",
    "VerificationFailure",
    "VerifiedCallback",
    "WaitTimeoutError",
    "verify",
]

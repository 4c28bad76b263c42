# Written by generate_types.py from openapi.json.

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from typing_extensions import NotRequired


class CompletedCallbackOutput(TypedDict):
    urls: list[str]
    """Links to what was generated."""
    metadata: dict[str, Any]
    """What was generated, e.g. `seed`, `ratio`, `duration`, `resolution`, `generate_audio`, `framespersecond`; other members are those of the upstream. An integer beyond 2^53, such as a `seed` of 64 bits, is a text of its digits."""


class CompletedCallback(TypedDict):
    """Body of the callback of a completed task."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["completed"]
    completed_at: int
    """When the job ended by the upstream's own clock, where that is known; otherwise when the relay took the result."""
    output: CompletedCallbackOutput


class FailedCallbackError(TypedDict):
    code: str
    """`upstream_error`, `upstream_funds`, `upstream_key`, `upstream_timeout`, `submit_unknown`, `queue_timeout`, `canceled`, `output_needs_store`, `output_not_a_file`, or the code that an event stated."""
    message: str


class FailedCallback(TypedDict):
    """Body of the callback of a failed task."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["failed"]
    error: FailedCallbackError


class ProgressCallback(TypedDict):
    """A running task, as the body of a progress callback."""

    id: str
    status: Literal["processing"]
    model: str
    created_at: int
    progress: int | None
    """Percent, where the upstream states it."""


class OpenTaskUpstream(TypedDict):
    """The attached job. Only operators see it."""

    id: str
    endpoint: NotRequired[str]
    attached_at: NotRequired[int]
    """When the job was attached; like the following, after the end."""
    hook_at: NotRequired[int]
    """When the latest hook claimed the end of the job."""
    asked_at: NotRequired[int]
    """When the upstream was last asked."""


class OpenTaskSubmissionOffer(TypedDict):
    """The offer by which the account has submitted the job, whose price the task has. Only operators see it."""

    name: str
    version: NotRequired[int]
    """Version of the offer; absent for one of `OFFERS`."""


class OpenTaskSubmissionAttemptError(TypedDict):
    """Its error, as that of a task."""

    code: str
    message: str


class OpenTaskSubmissionAttempt(TypedDict):
    connection: str
    """The connection that was used."""
    at: int
    """When the upstream had refused the call, or its job had failed."""
    status_code: NotRequired[int]
    """HTTP status of the refusal."""
    refusal: NotRequired[Literal["busy", "rate", "funds", "key", "final"]]
    """Class of the refusal."""
    job: NotRequired[str]
    """Id of the job that has failed."""
    error: NotRequired[OpenTaskSubmissionAttemptError]
    """Its error, as that of a task."""
    category: NotRequired[Literal["moderation", "invalid_input", "rate_limited", "timeout", "canceled", "provider"]]
    """Category of its failure."""


class OpenTaskSubmission(TypedDict):
    """The call with which the relay started the job."""

    state: Literal["queued", "sending", "accepted", "unknown", "refused", "unsent"]
    """Whether the upstream has started a job: the call waits to be sent, the upstream has not answered, it has started one, it is not known; it has refused; or the call was not sent, and will not be."""
    started_at: int
    """From when the call could be sent or, after a wait, was sent."""
    start_by: NotRequired[int]
    """When the task fails with `queue_timeout` if the call still waits then."""
    position: NotRequired[int]
    """Position in the queue of its connection while it waits; 1 is the next. Only the answer about a single task has it."""
    cause: NotRequired[Literal["no_place", "upstream_refused"]]
    """Why it waits there: no place is free, or the upstream has refused calls and gets none for a while. Beside `position`."""
    answered_at: NotRequired[int]
    """When the upstream answered."""
    status_code: NotRequired[int]
    """HTTP status of its answer."""
    waits_for: NotRequired[Literal["hook", "job"]]
    """While it is not known whether the upstream has started a job: what may still show it, a hook of the upstream, or its answer about a job that is known."""
    waits_until: NotRequired[int]
    """When the task then fails without that."""
    refusal: NotRequired[Literal["busy", "rate", "funds", "key", "final"]]
    """Class of the refusal because of which the task has failed. Only operators see it."""
    offer: NotRequired[OpenTaskSubmissionOffer]
    """The offer by which the account has submitted the job, whose price the task has. Only operators see it."""
    attempts: NotRequired[list[OpenTaskSubmissionAttempt]]
    """The earlier attempts: at most 20 that the upstream has refused without having started anything, and those whose job has failed at a member of a pool with `failures`; the call was then sent again, or waits. Only operators see them."""
    key: NotRequired[Literal["customer"]]
    """The key at the upstream is the customer's own."""
    key_refused_since: NotRequired[int]
    """Since when the upstream has refused this key."""


class OpenTaskCancel(TypedDict):
    """The latest order to cancel the task."""

    state: Literal["asked", "refused", "unknown", "confirmed", "not_sent"]
    """What has become of the job at the upstream: it is being canceled (`asked`), the upstream does not cancel it or it had ended (`refused`), no answer or none that is understood has come (`unknown`), it is canceled (`confirmed`); or the upstream was not asked, so that a running job goes on (`not_sent`)."""
    reason: Literal["order", "deadline"]
    """Whether somebody has ordered it, or the task has reached its deadline."""
    requested_at: int
    answered_at: NotRequired[int]
    """When the upstream answered without a confirmation, or its last call ended without an answer."""
    status_code: NotRequired[int]
    """HTTP status of that answer."""


class OpenTaskCredits(TypedDict):
    amount: int
    """Credits that are charged: the price or, for a price by usage, the most that the task can cost."""
    final: NotRequired[int]
    """What the completed task costs. Only of a price by usage."""
    state: Literal["charging", "charged", "releasing", "released", "refunding", "refunded"]
    """`releasing` and `released`: the part of `amount` above `final` is being given back, or is back."""
    basis: NotRequired[Literal["usage", "field", "hold"]]
    """By what `final` was found: by the usage of the job, or by a field of the output metadata. `hold`: the number was not known, so that all of `amount` is kept."""
    released_at: NotRequired[int]
    """When the release was confirmed."""
    refunded_at: NotRequired[int]
    """When the refund was confirmed."""
    retry_at: NotRequired[int]
    """When the charge, refund or release is tried again. Only operators see it."""
    tries: NotRequired[int]


class AttemptAnswer(TypedDict):
    """Headers of the receiver's answer. Only operators see them."""

    content_type: NotRequired[str]
    location_host: NotRequired[str]
    """Host to which a redirect points."""
    retry_after: NotRequired[str]
    """`Retry-After`, which is not obeyed."""


Outcome: TypeAlias = Literal["delivered", "rejected", "redirected", "timeout", "unreachable", "blocked", "interrupted"]
"""How an attempt ended. Only `delivered`, any 2xx, is a success."""


class TrackingHooksRefusedItem(TypedDict):
    at: int
    reason: Literal["bad_signature", "malformed", "unknown_state", "other_task", "other_job"]


class TrackingUnclear(TypedDict):
    """The first of the answers that are not understood."""

    since: int
    status_code: NotRequired[int]
    word: NotRequired[str]


class Tracking(TypedDict):
    """What an open task waits for. Only operators see it."""

    paused: NotRequired[Literal[True]]
    """The relay is paused, which holds the polls back."""
    answer: NotRequired[
        Literal["queued", "processing", "no_output", "limited", "unauthorized", "unclear", "unanswered"]
    ]
    """What the upstream answers to polls."""
    answer_since: NotRequired[int]
    """Since when the upstream has answered so."""
    asked_at: NotRequired[int]
    """The last poll."""
    next_poll_at: NotRequired[int]
    next_poll_reason: NotRequired[
        Literal[
            "schedule",
            "hook_late",
            "hook_running",
            "hook_ended",
            "cancel_answered",
            "no_output",
            "retry_after",
            "rate_limit",
            "deadline",
            "paused",
        ]
    ]
    """Why the next poll is made then."""
    is_extended: NotRequired[bool]
    """Whether the deadline was extended."""
    hooks_taken: NotRequired[int]
    """Hooks that changed the task."""
    hooks_kept: NotRequired[int]
    """Hooks that are kept until a job is attached."""
    hooks_refused: NotRequired[list[TrackingHooksRefusedItem]]
    """Hooks to the right URL that were not taken, the first three of each reason."""
    kept_jobs: NotRequired[list[str]]
    """Jobs that hooks have named while none is attached."""
    unclear: NotRequired[TrackingUnclear]
    """The first of the answers that are not understood."""
    key_unreadable_since: NotRequired[int]
    """Since when no value of `RELAY_SECRET` opens the customer's key, so that the job is not polled."""


class CompletedTaskOutput(TypedDict):
    kept: bool
    """Whether the relay has a copy."""
    bytes: NotRequired[int]
    """Size of the copy."""
    content_type: NotRequired[str]
    """Media type by the first bytes of the copy."""
    expires_at: NotRequired[int]
    """When the relay's link ends and its copy is deleted. Absent for an output that keeps the upstream's own link."""
    reason: NotRequired[
        Literal[
            "own_link", "streamed", "deleted", "too_large", "empty", "refused", "unreachable", "blocked", "not_stored"
        ]
    ]
    """Why there is no copy: the output keeps the upstream's own link (`own_link`), the relay keeps no copies and passes on what the upstream sends (`streamed`), it was deleted (`deleted`), or copying was given up. Absent while it is being copied."""


class FailedTaskFailure(TypedDict):
    """Kind of the failure, where known."""

    category: Literal["moderation", "invalid_input", "rate_limited", "timeout", "canceled", "provider"]
    retryable: bool
    request_ids: NotRequired[list[str]]
    """Ids of the upstream's requests, as its text named them. Only operators see them."""


class ListedTaskFailure(TypedDict):
    """Kind of the failure of a failed task, where it is known."""

    category: Literal["moderation", "invalid_input", "rate_limited", "timeout", "canceled", "provider"]


class ListedTaskSubmission(TypedDict):
    """The call with which the relay started the job."""

    state: Literal["queued", "sending", "accepted", "unknown", "refused"]
    refusal: NotRequired[Literal["busy", "rate", "funds", "key", "final"]]
    """Class of the refusal because of which the task has failed. Only operators see it."""


class ListedTaskCredits(TypedDict):
    """As in the task; absent when it costs nothing."""

    amount: int
    """Credits that were charged."""
    state: Literal["charged", "releasing", "released", "refunding", "refunded"]
    final: NotRequired[int]
    """What the completed task costs, where that is less."""


class ListedTaskUpstream(TypedDict):
    """The attached job. Only operators see it."""

    id: str


class ListedTaskCallback(TypedDict):
    status: Literal["waiting", "sending", "retrying", "paused", "delivered", "failed"]
    host: str | None
    attempts: int
    """Number of attempts so far."""
    last_outcome: NotRequired[str]
    last_status_code: NotRequired[int]


class ListedTask(TypedDict):
    """A task in a list."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["pending", "processing", "completed", "failed"]
    completed_at: NotRequired[int]
    finished_at: NotRequired[int]
    settled_at: NotRequired[int]
    """When the last attempt of the callback ended."""
    failure: NotRequired[ListedTaskFailure]
    """Kind of the failure of a failed task, where it is known."""
    submission: NotRequired[ListedTaskSubmission]
    """The call with which the relay started the job."""
    account: NotRequired[str]
    credits: NotRequired[ListedTaskCredits]
    """As in the task; absent when it costs nothing."""
    provider: NotRequired[str]
    """The connection. Only operators see it."""
    upstream: NotRequired[ListedTaskUpstream]
    """The attached job. Only operators see it."""
    callback: ListedTaskCallback | None


class TaskStatusTaskStatusCallback(TypedDict):
    """Null without a `callback_url`."""

    status: Literal["waiting", "sending", "retrying", "paused", "delivered", "failed"]


class TaskStatusTaskStatus(TypedDict):
    """A task as whoever has its status link sees it."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["pending", "processing"]
    callback: TaskStatusTaskStatusCallback | None
    """Null without a `callback_url`."""
    progress: NotRequired[int]
    """Percent, where the upstream states it."""


class TaskStatusTaskStatus1(TypedDict):
    """A task as whoever has its status link sees it."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["completed"]
    completed_at: int
    """When the job ended by the upstream's own clock, where that is known; otherwise when the relay took the result."""
    output: CompletedCallbackOutput
    callback: TaskStatusTaskStatusCallback | None
    """Null without a `callback_url`."""
    outputs: NotRequired[list[CompletedTaskOutput]]
    """What the relay has kept of each output, in the order of `output.urls`, where these are links of the relay."""


class TaskStatusTaskStatus2(TypedDict):
    """A task as whoever has its status link sees it."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["failed"]
    error: FailedCallbackError
    callback: TaskStatusTaskStatusCallback | None
    """Null without a `callback_url`."""
    failure: NotRequired[FailedTaskFailure]
    """Kind of the failure, where known."""


TaskStatus: TypeAlias = TaskStatusTaskStatus | TaskStatusTaskStatus1 | TaskStatusTaskStatus2
"""A task as whoever has its status link sees it."""


ProblemCode: TypeAlias = Literal[
    "invalid_json",
    "invalid_request",
    "prefer_required",
    "unknown_endpoint",
    "unauthenticated",
    "insufficient_credits",
    "monthly_limit",
    "forbidden",
    "not_offered",
    "not_found",
    "unknown_task",
    "method_not_allowed",
    "body_timeout",
    "task_exists",
    "task_open",
    "task_settled",
    "reference_reused",
    "conflicting_result",
    "series_running",
    "submission_running",
    "not_cancelable",
    "no_callback",
    "endpoints_full",
    "host_paused",
    "pauses_full",
    "offers_in_configuration",
    "offers_full",
    "offer_changed",
    "length_required",
    "output_gone",
    "payload_too_large",
    "submit_unknown",
    "task_failed",
    "output_needs_store",
    "idempotency_key_reused",
    "rate_limited",
    "connection_busy",
    "queue_full",
    "internal_error",
    "index_disabled",
    "not_configured",
    "stored_by_earlier_build",
    "unavailable",
]
"""The kind of problem, which does not change."""


class Issue(TypedDict):
    path: str
    message: str


RegistrationCallbackSchedule: TypeAlias = int


class RegistrationPricePer(TypedDict):
    usage: NotRequired[str | None]
    field: NotRequired[Literal["duration"] | None]
    units: float
    credits: float | dict[str, float]


class RegistrationPrice(TypedDict):
    """The same as `{"credits": 60}`, or a price by usage: `hold` is charged, and what the completed task costs less is given back. It costs `per.credits` for `per.units` of the number `per.usage` of the job's usage, or of `per.field` of the output metadata, at least `min`. `per.credits` may have a number for each `resolution`. In place of `credits`."""

    credits: NotRequired[int | None]
    hold: NotRequired[int | None]
    min: NotRequired[int | None]
    per: NotRequired[RegistrationPricePer | None]


class Registration(TypedDict):
    id: NotRequired[str | None]
    """Id of the task, a UUID; made by the relay when it is absent."""
    model: str
    """Name of the model, which the callback repeats."""
    callback_url: NotRequired[str | None]
    """URL that gets the callback: https, and no private address; or `endpoint:NAME`, an endpoint of the account or, without an account, of the relay. Without it, the one named `default` gets it, if there is one."""
    callback_schedule_s: NotRequired[Literal["day"] | list[RegistrationCallbackSchedule] | None]
    """Waits before the attempts of the callback, each from the end of the attempt before, or `day` for 0, 5, 300, 1,800, 7,200, 18,000, 36,000 and 36,000. Together at most RETENTION_DAYS. CALLBACK_SCHEDULE_S by default."""
    callback_events: NotRequired[list[Literal["completed", "failed", "progress"]] | None]
    """Events of which the receiver of the callback is told, of `completed`, `failed` and `progress`. `completed` and `failed` by default; `progress` adds `task.processing` while the job runs."""
    account: NotRequired[str | None]
    """Account that owns the task and is charged."""
    provider: NotRequired[str | None]
    """Connection that does the work, for a hook URL and for polls."""
    parameters: NotRequired[dict[str, Any] | None]
    """Parameters of the job. The relay only stores them."""
    metadata: NotRequired[dict[str, Any] | None]
    """Labels of your own, at most 4 KB, which reading the task returns."""
    deadline_at: NotRequired[int | None]
    """When the task fails unless it has ended, in Unix seconds; by default after TASK_DEADLINE_HOURS."""
    credits: NotRequired[int | None]
    """Price in whole credits, refunded when the task fails. Needs `account`."""
    price: NotRequired[RegistrationPrice | None]
    """The same as `{"credits": 60}`, or a price by usage: `hold` is charged, and what the completed task costs less is given back. It costs `per.credits` for `per.units` of the number `per.usage` of the job's usage, or of `per.field` of the output metadata, at least `min`. `per.credits` may have a number for each `resolution`. In place of `credits`."""


class UpstreamJob(TypedDict):
    provider: str
    """Connection that does the work."""
    id: str
    """Id of the job, as the provider's submit call returned it."""
    endpoint: NotRequired[str | None]
    """Endpoint of the job, for providers whose jobs are polled by it."""


class TaskEventTaskEvent(TypedDict):
    id: str
    """Id of the task."""
    model: NotRequired[str | None]
    """Name of the model. Creates the task when it is unknown."""
    created_at: NotRequired[int | None]
    """When the task was created, in Unix seconds."""
    callback_url: NotRequired[str | None]
    """URL that gets the callback, or `endpoint:NAME`, as of `POST /v1/tasks`."""
    callback_schedule_s: NotRequired[Literal["day"] | list[RegistrationCallbackSchedule] | None]
    """Waits before the attempts of the callback, each from the end of the attempt before, or `day` for 0, 5, 300, 1,800, 7,200, 18,000, 36,000 and 36,000. Together at most RETENTION_DAYS. CALLBACK_SCHEDULE_S by default."""
    callback_events: NotRequired[list[Literal["completed", "failed", "progress"]] | None]
    """Events of which the receiver of the callback is told, of `completed`, `failed` and `progress`. `completed` and `failed` by default; `progress` adds `task.processing` while the job runs."""
    account: NotRequired[str | None]
    """Account that owns the task."""
    status: Literal["processing"]
    """State of the task."""
    completed_at: NotRequired[None]
    """When the job ended, in Unix seconds."""
    output: NotRequired[None]
    """Result of a completed task."""
    error: NotRequired[None]
    """Reason of a failed task."""
    usage: NotRequired[None]
    """What the job has consumed or cost, at most 1 KB of numbers under names of your own. A price by usage needs it."""


TaskEventTaskEvent1OutputUrl: TypeAlias = str


class TaskEventTaskEvent1Output(TypedDict):
    """Result of a completed task."""

    urls: list[TaskEventTaskEvent1OutputUrl]
    metadata: NotRequired[dict[str, Any] | None]


class TaskEventTaskEvent1(TypedDict):
    id: str
    """Id of the task."""
    model: NotRequired[str | None]
    """Name of the model. Creates the task when it is unknown."""
    created_at: NotRequired[int | None]
    """When the task was created, in Unix seconds."""
    callback_url: NotRequired[str | None]
    """URL that gets the callback, or `endpoint:NAME`, as of `POST /v1/tasks`."""
    callback_schedule_s: NotRequired[Literal["day"] | list[RegistrationCallbackSchedule] | None]
    """Waits before the attempts of the callback, each from the end of the attempt before, or `day` for 0, 5, 300, 1,800, 7,200, 18,000, 36,000 and 36,000. Together at most RETENTION_DAYS. CALLBACK_SCHEDULE_S by default."""
    callback_events: NotRequired[list[Literal["completed", "failed", "progress"]] | None]
    """Events of which the receiver of the callback is told, of `completed`, `failed` and `progress`. `completed` and `failed` by default; `progress` adds `task.processing` while the job runs."""
    account: NotRequired[str | None]
    """Account that owns the task."""
    status: Literal["completed"]
    """State of the task."""
    completed_at: NotRequired[int | None]
    """When the job ended, in Unix seconds."""
    output: TaskEventTaskEvent1Output
    """Result of a completed task."""
    error: NotRequired[None]
    """Reason of a failed task."""
    usage: NotRequired[dict[str, float | str | None] | None]
    """What the job has consumed or cost, at most 1 KB of numbers under names of your own. A price by usage needs it."""


class TaskEventTaskEvent2Error(TypedDict):
    """Reason of a failed task."""

    code: str
    message: str


class TaskEventTaskEvent2(TypedDict):
    id: str
    """Id of the task."""
    model: NotRequired[str | None]
    """Name of the model. Creates the task when it is unknown."""
    created_at: NotRequired[int | None]
    """When the task was created, in Unix seconds."""
    callback_url: NotRequired[str | None]
    """URL that gets the callback, or `endpoint:NAME`, as of `POST /v1/tasks`."""
    callback_schedule_s: NotRequired[Literal["day"] | list[RegistrationCallbackSchedule] | None]
    """Waits before the attempts of the callback, each from the end of the attempt before, or `day` for 0, 5, 300, 1,800, 7,200, 18,000, 36,000 and 36,000. Together at most RETENTION_DAYS. CALLBACK_SCHEDULE_S by default."""
    callback_events: NotRequired[list[Literal["completed", "failed", "progress"]] | None]
    """Events of which the receiver of the callback is told, of `completed`, `failed` and `progress`. `completed` and `failed` by default; `progress` adds `task.processing` while the job runs."""
    account: NotRequired[str | None]
    """Account that owns the task."""
    status: Literal["failed"]
    """State of the task."""
    completed_at: NotRequired[None]
    """When the job ended, in Unix seconds."""
    output: NotRequired[None]
    """Result of a completed task."""
    error: TaskEventTaskEvent2Error
    """Reason of a failed task."""
    usage: NotRequired[dict[str, float | str | None] | None]
    """What the job has consumed or cost, at most 1 KB of numbers under names of your own. A price by usage needs it."""


TaskEvent: TypeAlias = TaskEventTaskEvent | TaskEventTaskEvent1 | TaskEventTaskEvent2


class RedeliveryOrder(TypedDict):
    attempts: NotRequired[int | None]
    """Number of attempts, 1 by default."""
    callback_url: NotRequired[str | None]
    """URL that gets the callback from now on."""
    endpoint: NotRequired[str | None]
    """Name of the endpoint that gets the callback from now on, as it is now: of the account of the task or, without an account, of the relay. Its events do not matter."""


class TaskFilter(TypedDict):
    status: NotRequired[Literal["pending", "processing", "completed", "failed"]]
    """Tasks of this status."""
    category: NotRequired[
        Literal["moderation", "invalid_input", "rate_limited", "timeout", "canceled", "provider", "unknown"]
    ]
    """Failed tasks with this category of the failure; `unknown`: with none."""
    submission: NotRequired[Literal["queued", "sending", "accepted", "unknown", "refused"]]
    """Tasks whose job the relay submitted, by the state of the submission; `unknown`: it may have started a job or not."""
    refusal: NotRequired[Literal["busy", "rate", "funds", "key", "final"]]
    """Tasks that have failed because the upstream refused their submission after its outcome was unknown or while its caller did not wait, by the class of the refusal. Only operators may ask."""
    outputs: NotRequired[Literal["lost"]]
    """Tasks with an output whose copy was given up, so that it is not kept."""
    callback: NotRequired[Literal["waiting", "sending", "retrying", "paused", "delivered", "failed", "open"]]
    """Tasks whose callback has this status; `open`: `sending`, `retrying` or `paused`."""
    model: NotRequired[str]
    """Tasks of this model."""
    provider: NotRequired[str]
    """Tasks of this connection. Only operators may ask."""
    account: NotRequired[str]
    """Tasks of this account. Only operators may ask."""
    host: NotRequired[str]
    """Tasks whose `callback_url` has this host."""
    outcome: NotRequired[
        Literal["delivered", "rejected", "redirected", "timeout", "unreachable", "blocked", "interrupted"]
    ]
    """Tasks with this outcome of the last attempt."""
    status_code: NotRequired[int]
    """Tasks whose last attempt was answered with this HTTP status."""
    job: NotRequired[str]
    """Task with this upstream job; needs `since`. Only operators may ask."""
    since: NotRequired[int]
    """Tasks created at this time or later, in Unix seconds."""
    until: NotRequired[int]
    """Tasks created before this time, in Unix seconds."""
    cursor: NotRequired[str]
    """`next_cursor` of the page before, with the same filters."""
    limit: NotRequired[int]
    """Largest number of entries on the page."""


class TaskPage(TypedDict):
    data: list[ListedTask]
    next_cursor: str | None
    """`cursor` of the next page; null when there is none."""


class Attempt(TypedDict):
    """One request of a callback. One that is running has neither `duration_ms` nor `outcome`."""

    number: int
    """Number of the attempt, from 1 over all series: `X-Attempt`."""
    series: int
    """1 for the automatic attempts; each redelivery starts another series."""
    url: NotRequired[str]
    """URL of the attempt, when the callback has another one now."""
    started_at: int
    late_ms: NotRequired[int]
    """How long after its planned time the attempt started."""
    after_ms: NotRequired[int]
    """How long after the end of the task the attempt started."""
    duration_ms: NotRequired[float]
    outcome: NotRequired[Outcome]
    cause: NotRequired[Literal["refused", "tls", "dns", "forbidden", "no_listener", "other"]]
    """Why the receiver was `unreachable`."""
    status_code: NotRequired[int]
    """HTTP status of the receiver's answer."""
    cloudflare_error: NotRequired[int]
    """Code of the error that Cloudflare answered in place of the receiver."""
    answer: NotRequired[AttemptAnswer]
    """Headers of the receiver's answer. Only operators see them."""
    response_excerpt: NotRequired[str]
    """At most 1 KiB of the receiver's answer. Only operators see it."""
    ordered_by: NotRequired[str]
    """Name of the key that ordered the redelivery. Only operators see it."""


class Callback(TypedDict):
    """The callback of a finished task."""

    url: str
    endpoint: NotRequired[str]
    """Name of the endpoint that gets the callback, as it was when the task was created."""
    schedule_s: NotRequired[list[int]]
    """Waits before the attempts, in seconds, where the task has waits of its own."""
    events: NotRequired[list[Literal["completed", "failed", "progress"]]]
    """Events of which the receiver is told, where they are not `completed` and `failed`."""
    status: Literal["sending", "retrying", "paused", "delivered", "failed"]
    """State of the latest series. `sending` until its first attempt has ended, then `retrying` until one is delivered or the last has failed: the next attempt is under way, or waits until `next_attempt_at`. `paused` while the next attempt is due, and the operator has paused the receiver's host."""
    attempts: list[Attempt]
    """The last 20 attempts, oldest first."""
    waits_for: NotRequired[Literal["refund"]]
    """The first attempt waits until credits are refunded."""
    paused: NotRequired[Literal[True]]
    """The relay is paused, which holds the next attempt back."""
    next_attempt_at: NotRequired[int]
    paused_until: NotRequired[int]
    """While `paused`: end of the pause. The attempt is made in the ten minutes after it."""
    ordered_by: NotRequired[str]
    """Name of the key that ordered the redelivery. Only operators see it."""
    delivered_at: NotRequired[int]
    """When an attempt first succeeded."""


class FailedTask(TypedDict):
    """A task that has failed. It begins with the body of its callback, byte for byte."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["failed"]
    error: FailedCallbackError
    callback: Callback | None
    """Null without a `callback_url`."""
    account: NotRequired[str]
    """The account that owns the task."""
    provider: NotRequired[str]
    """The connection. Only operators see it."""
    upstream: NotRequired[OpenTaskUpstream]
    """The attached job. Only operators see it."""
    metadata: NotRequired[dict[str, Any]]
    """The labels of the registration."""
    submission: NotRequired[OpenTaskSubmission]
    """The call with which the relay started the job."""
    cancel: NotRequired[OpenTaskCancel]
    """The latest order to cancel the task."""
    credits: NotRequired[OpenTaskCredits]
    finished_at: NotRequired[int]
    """When the relay took the end."""
    usage: NotRequired[dict[str, float]]
    """What the job consumed or cost, by the upstream's own names. Only operators see it."""
    failure: NotRequired[FailedTaskFailure]
    """Kind of the failure, where known."""


class RegisteredTaskRegisteredTask1(TypedDict):
    """A registered task, with what its submit call to the provider must pass on."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["completed"]
    completed_at: int
    """When the job ended by the upstream's own clock, where that is known; otherwise when the relay took the result."""
    output: CompletedCallbackOutput
    callback: Callback | None
    """Null without a `callback_url`."""
    account: NotRequired[str]
    """The account that owns the task."""
    provider: NotRequired[str]
    """The connection. Only operators see it."""
    upstream: NotRequired[OpenTaskUpstream]
    """The attached job. Only operators see it."""
    metadata: NotRequired[dict[str, Any]]
    """The labels of the registration."""
    submission: NotRequired[OpenTaskSubmission]
    """The call with which the relay started the job."""
    cancel: NotRequired[OpenTaskCancel]
    """The latest order to cancel the task."""
    credits: NotRequired[OpenTaskCredits]
    finished_at: NotRequired[int]
    """When the relay took the end."""
    usage: NotRequired[dict[str, float]]
    """What the job consumed or cost, by the upstream's own names. Only operators see it."""
    source_urls: NotRequired[list[str]]
    """The upstream's own links, in the order of `output.urls`, where these are links of the relay. Only operators see them."""
    outputs: NotRequired[list[CompletedTaskOutput]]
    """What the relay has kept of each output, in the order of `output.urls`, where these are links of the relay."""
    hook_url: NotRequired[str]
    """URL to pass to the provider for its hook."""
    hook_parameter: NotRequired[str]
    """Name of the parameter of the provider's submit call that takes `hook_url`."""
    id_parameter: NotRequired[str]
    """Name of the parameter of the provider's submit call that takes the id of the task."""
    status_url: str
    """Status link of the task: reads it without a key, from pages of any site, until 24 hours after its deadline."""


class RegisteredTaskRegisteredTask2(TypedDict):
    """A registered task, with what its submit call to the provider must pass on."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["failed"]
    error: FailedCallbackError
    callback: Callback | None
    """Null without a `callback_url`."""
    account: NotRequired[str]
    """The account that owns the task."""
    provider: NotRequired[str]
    """The connection. Only operators see it."""
    upstream: NotRequired[OpenTaskUpstream]
    """The attached job. Only operators see it."""
    metadata: NotRequired[dict[str, Any]]
    """The labels of the registration."""
    submission: NotRequired[OpenTaskSubmission]
    """The call with which the relay started the job."""
    cancel: NotRequired[OpenTaskCancel]
    """The latest order to cancel the task."""
    credits: NotRequired[OpenTaskCredits]
    finished_at: NotRequired[int]
    """When the relay took the end."""
    usage: NotRequired[dict[str, float]]
    """What the job consumed or cost, by the upstream's own names. Only operators see it."""
    failure: NotRequired[FailedTaskFailure]
    """Kind of the failure, where known."""
    hook_url: NotRequired[str]
    """URL to pass to the provider for its hook."""
    hook_parameter: NotRequired[str]
    """Name of the parameter of the provider's submit call that takes `hook_url`."""
    id_parameter: NotRequired[str]
    """Name of the parameter of the provider's submit call that takes the id of the task."""
    status_url: str
    """Status link of the task: reads it without a key, from pages of any site, until 24 hours after its deadline."""


class WaitingCallback(TypedDict):
    """The callback of an open task."""

    url: str
    endpoint: NotRequired[str]
    """Name of the endpoint that gets the callback, as it was when the task was created."""
    schedule_s: NotRequired[list[int]]
    """Waits before the attempts, in seconds, where the task has waits of its own."""
    events: NotRequired[list[Literal["completed", "failed", "progress"]]]
    """Events of which the receiver is told, where they are not `completed` and `failed`."""
    status: Literal["waiting"]
    attempts: list[Attempt]


class CompletedTask(TypedDict):
    """A task that has completed. It begins with the body of its callback, byte for byte."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["completed"]
    completed_at: int
    """When the job ended by the upstream's own clock, where that is known; otherwise when the relay took the result."""
    output: CompletedCallbackOutput
    callback: Callback | None
    """Null without a `callback_url`."""
    account: NotRequired[str]
    """The account that owns the task."""
    provider: NotRequired[str]
    """The connection. Only operators see it."""
    upstream: NotRequired[OpenTaskUpstream]
    """The attached job. Only operators see it."""
    metadata: NotRequired[dict[str, Any]]
    """The labels of the registration."""
    submission: NotRequired[OpenTaskSubmission]
    """The call with which the relay started the job."""
    cancel: NotRequired[OpenTaskCancel]
    """The latest order to cancel the task."""
    credits: NotRequired[OpenTaskCredits]
    finished_at: NotRequired[int]
    """When the relay took the end."""
    usage: NotRequired[dict[str, float]]
    """What the job consumed or cost, by the upstream's own names. Only operators see it."""
    source_urls: NotRequired[list[str]]
    """The upstream's own links, in the order of `output.urls`, where these are links of the relay. Only operators see them."""
    outputs: NotRequired[list[CompletedTaskOutput]]
    """What the relay has kept of each output, in the order of `output.urls`, where these are links of the relay."""


class RegisteredTaskRegisteredTask(TypedDict):
    """A registered task, with what its submit call to the provider must pass on."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["pending", "processing"]
    callback: WaitingCallback | None
    """Null without a `callback_url`."""
    account: NotRequired[str]
    """The account that owns the task."""
    provider: NotRequired[str]
    """The connection. Only operators see it."""
    upstream: NotRequired[OpenTaskUpstream]
    """The attached job. Only operators see it."""
    metadata: NotRequired[dict[str, Any]]
    """The labels of the registration."""
    submission: NotRequired[OpenTaskSubmission]
    """The call with which the relay started the job."""
    cancel: NotRequired[OpenTaskCancel]
    """The latest order to cancel the task."""
    credits: NotRequired[OpenTaskCredits]
    progress: NotRequired[int]
    """Percent, where the upstream states it."""
    deadline_at: int
    """When the task fails unless it has ended."""
    tracking: NotRequired[Tracking]
    hook_url: NotRequired[str]
    """URL to pass to the provider for its hook."""
    hook_parameter: NotRequired[str]
    """Name of the parameter of the provider's submit call that takes `hook_url`."""
    id_parameter: NotRequired[str]
    """Name of the parameter of the provider's submit call that takes the id of the task."""
    status_url: str
    """Status link of the task: reads it without a key, from pages of any site, until 24 hours after its deadline."""


RegisteredTask: TypeAlias = RegisteredTaskRegisteredTask | RegisteredTaskRegisteredTask1 | RegisteredTaskRegisteredTask2
"""A registered task, with what its submit call to the provider must pass on."""


class OpenTask(TypedDict):
    """A task whose result is not known yet."""

    id: str
    model: str
    """As registered."""
    created_at: int
    """When the task was registered, or what its first event stated."""
    status: Literal["pending", "processing"]
    callback: WaitingCallback | None
    """Null without a `callback_url`."""
    account: NotRequired[str]
    """The account that owns the task."""
    provider: NotRequired[str]
    """The connection. Only operators see it."""
    upstream: NotRequired[OpenTaskUpstream]
    """The attached job. Only operators see it."""
    metadata: NotRequired[dict[str, Any]]
    """The labels of the registration."""
    submission: NotRequired[OpenTaskSubmission]
    """The call with which the relay started the job."""
    cancel: NotRequired[OpenTaskCancel]
    """The latest order to cancel the task."""
    credits: NotRequired[OpenTaskCredits]
    progress: NotRequired[int]
    """Percent, where the upstream states it."""
    deadline_at: int
    """When the task fails unless it has ended."""
    tracking: NotRequired[Tracking]


Task: TypeAlias = OpenTask | CompletedTask | FailedTask
"""A task as its reader may see it. A member that does not apply is left out."""


class Problem(TypedDict):
    """A refused request (RFC 9457). It has changed nothing."""

    type: str
    """Link to the code on the page `/docs/errors` of the relay."""
    title: str
    status: int
    detail: str
    """What is wrong in this case."""
    code: ProblemCode
    issues: NotRequired[list[Issue]]
    """Faults of the input: `path` is a JSON Pointer, or `/Name` of a header or parameter."""
    more_issues: NotRequired[int]
    """Number of further faults."""
    balance: NotRequired[int]
    """Balance of the account, of `insufficient_credits`."""
    price: NotRequired[int]
    """Price of the task, of `insufficient_credits` and `monthly_limit`."""
    monthly_limit: NotRequired[int]
    """Credits that the account may spend in a month, of `monthly_limit`."""
    spent_this_month: NotRequired[int]
    """Credits that it has spent in this month, of `monthly_limit`."""
    reason: NotRequired[
        Literal[
            "link_expired",
            "deleted",
            "source_expired",
            "too_large",
            "empty",
            "refused",
            "unreachable",
            "blocked",
            "not_stored",
        ]
    ]
    """Why the output is gone, of `output_gone`."""
    task: NotRequired[Task]

import * as z from "zod/mini";
import { AWAITED_NEWS } from "../../core/record/awaited-news.ts";
import { CALLBACK_STATUSES } from "../../core/record/callback.ts";
import { LOSS_REASONS } from "../../core/record/outputs.ts";
import { QUEUE_CAUSES } from "../../core/record/queue-stay.ts";
import { PRICE_BASES } from "../../core/record/price-rule.ts";
import { REFUSAL_CLASSES } from "../../core/record/refusal.ts";
import { FAILURE_CATEGORIES } from "../../core/record/upstream.ts";
import { Callback, WaitingCallback } from "./callback-shape.ts";
import { AnyObject, Count, described, Id, maybe, named, Time } from "./described.ts";
import type { Plain } from "./plain.ts";
import { Tracking } from "./tracking-shape.ts";

const HEAD = {
  id: Id,
  model: described(z.string(), "As registered."),
  created_at: described(Time, "When the task was registered, or what its first event stated."),
};

const Output = z.strictObject({
  urls: described(z.array(z.string()), "Links to what was generated."),
  metadata: described(
    AnyObject,
    "What was generated, e.g. `seed`, `ratio`, `duration`, `resolution`, `generate_audio`, `framespersecond`; other members are those of the upstream. An integer beyond 2^53, such as a `seed` of 64 bits, is a text of its digits.",
  ),
});

const COMPLETED = {
  ...HEAD,
  status: z.literal("completed"),
  completed_at: described(
    Time,
    "When the job ended by the upstream's own clock, where that is known; otherwise when the relay took the result.",
  ),
  output: Output,
};

const FAILED = {
  ...HEAD,
  status: z.literal("failed"),
  error: z.strictObject({
    code: described(
      z.string(),
      "`upstream_error`, `upstream_funds`, `upstream_key`, `upstream_timeout`, `submit_unknown`, `queue_timeout`, `canceled`, `output_needs_store`, `output_not_a_file`, or the code that an event stated.",
    ),
    message: z.string(),
  }),
};

const Credits = z.strictObject({
  amount: described(
    z.int(),
    "Credits that are charged: the price or, for a price by usage, the most that the task can cost.",
  ),
  final: maybe(z.int(), "What the completed task costs. Only of a price by usage."),
  state: described(
    z.enum(["charging", "charged", "releasing", "released", "refunding", "refunded"]),
    "`releasing` and `released`: the part of `amount` above `final` is being given back, or is back.",
  ),
  basis: maybe(
    z.enum(PRICE_BASES),
    "By what `final` was found: by the usage of the job, or by a field of the output metadata. `hold`: the number was not known, so that all of `amount` is kept.",
  ),
  released_at: maybe(Time, "When the release was confirmed."),
  refunded_at: maybe(Time, "When the refund was confirmed."),
  retry_at: maybe(
    Time,
    "When the charge, refund or release is tried again. Only operators see it.",
  ),
  tries: z.optional(Count),
});

const Refusal = maybe(
  z.enum(REFUSAL_CLASSES),
  "Class of the refusal because of which the task has failed. Only operators see it.",
);

const Submission = z.strictObject({
  state: described(
    z.enum(["queued", "sending", "accepted", "unknown", "refused", "unsent"]),
    "Whether the upstream has started a job: the call waits to be sent, the upstream has not answered, it has started one, it is not known; it has refused; or the call was not sent, and will not be.",
  ),
  started_at: described(Time, "From when the call could be sent or, after a wait, was sent."),
  start_by: maybe(Time, "When the task fails with `queue_timeout` if the call still waits then."),
  position: maybe(
    z.int().check(z.minimum(1)),
    "Position in the queue of its connection while it waits; 1 is the next. Only the answer about a single task has it.",
  ),
  cause: maybe(
    z.enum(QUEUE_CAUSES),
    "Why it waits there: no place is free, or the upstream has refused calls and gets none for a while. Beside `position`.",
  ),
  answered_at: maybe(Time, "When the upstream answered."),
  status_code: maybe(z.int(), "HTTP status of its answer."),
  waits_for: maybe(
    z.enum(AWAITED_NEWS),
    "While it is not known whether the upstream has started a job: what may still show it, a hook of the upstream, or its answer about a job that is known.",
  ),
  waits_until: maybe(Time, "When the task then fails without that."),
  refusal: Refusal,
  offer: maybe(
    z.strictObject({
      name: z.string(),
      version: maybe(z.int(), "Version of the offer; absent for one of `OFFERS`."),
    }),
    "The offer by which the account has submitted the job, whose price the task has. Only operators see it.",
  ),
  attempts: maybe(
    z.array(
      z.strictObject({
        connection: described(z.string(), "The connection that was used."),
        at: described(Time, "When the upstream had refused the call, or its job had failed."),
        status_code: maybe(z.int(), "HTTP status of the refusal."),
        refusal: maybe(z.enum(REFUSAL_CLASSES), "Class of the refusal."),
        job: maybe(z.string(), "Id of the job that has failed."),
        error: maybe(
          z.strictObject({ code: z.string(), message: z.string() }),
          "Its error, as that of a task.",
        ),
        category: maybe(z.enum(FAILURE_CATEGORIES), "Category of its failure."),
      }),
    ),
    "The earlier attempts: at most 20 that the upstream has refused without having started anything, and those whose job has failed at a member of a pool with `failures`; the call was then sent again, or waits. Only operators see them.",
  ),
  key: maybe(z.literal("customer"), "The key at the upstream is the customer's own."),
  key_refused_since: maybe(Time, "Since when the upstream has refused this key."),
});

const Cancellation = z.strictObject({
  state: described(
    z.enum(["asked", "refused", "unknown", "confirmed", "not_sent"]),
    "What has become of the job at the upstream: it is being canceled (`asked`), the upstream does not cancel it or it had ended (`refused`), no answer or none that is understood has come (`unknown`), it is canceled (`confirmed`); or the upstream was not asked, so that a running job goes on (`not_sent`).",
  ),
  reason: described(
    z.enum(["order", "deadline"]),
    "Whether somebody has ordered it, or the task has reached its deadline.",
  ),
  requested_at: Time,
  answered_at: maybe(
    Time,
    "When the upstream answered without a confirmation, or its last call ended without an answer.",
  ),
  status_code: maybe(z.int(), "HTTP status of that answer."),
});

const SHARED = {
  account: maybe(z.string(), "The account that owns the task."),
  provider: maybe(z.string(), "The connection. Only operators see it."),
  upstream: maybe(
    z.strictObject({
      id: z.string(),
      endpoint: z.optional(z.string()),
      attached_at: maybe(Time, "When the job was attached; like the following, after the end."),
      hook_at: maybe(Time, "When the latest hook claimed the end of the job."),
      asked_at: maybe(Time, "When the upstream was last asked."),
    }),
    "The attached job. Only operators see it.",
  ),
  metadata: maybe(AnyObject, "The labels of the registration."),
  submission: maybe(Submission, "The call with which the relay started the job."),
  cancel: maybe(Cancellation, "The latest order to cancel the task."),
  credits: z.optional(Credits),
};

const OPEN_FIELDS = {
  ...HEAD,
  status: z.enum(["pending", "processing"]),
  callback: described(z.nullable(WaitingCallback), "Null without a `callback_url`."),
  ...SHARED,
  progress: maybe(
    z.int().check(z.minimum(0), z.maximum(100)),
    "Percent, where the upstream states it.",
  ),
  deadline_at: described(Time, "When the task fails unless it has ended."),
  tracking: z.optional(Tracking),
};

const ENDED_FIELDS = {
  callback: described(z.nullable(Callback), "Null without a `callback_url`."),
  ...SHARED,
  finished_at: maybe(Time, "When the relay took the end."),
  usage: maybe(
    z.record(z.string(), z.number()),
    "What the job consumed or cost, by the upstream's own names. Only operators see it.",
  ),
};

const OutputCopy = z.strictObject({
  kept: described(z.boolean(), "Whether the relay has a copy."),
  bytes: maybe(Count, "Size of the copy."),
  content_type: maybe(z.string(), "Media type by the first bytes of the copy."),
  expires_at: maybe(
    Time,
    "When the relay's link ends and its copy is deleted. Absent for an output that keeps the upstream's own link.",
  ),
  reason: maybe(
    z.enum(["own_link", "streamed", "deleted", ...LOSS_REASONS]),
    "Why there is no copy: the output keeps the upstream's own link (`own_link`), the relay keeps no copies and passes on what the upstream sends (`streamed`), it was deleted (`deleted`), or copying was given up. Absent while it is being copied.",
  ),
});

const COMPLETED_FIELDS = {
  ...COMPLETED,
  ...ENDED_FIELDS,
  source_urls: maybe(
    z.array(z.string()),
    "The upstream's own links, in the order of `output.urls`, where these are links of the relay. Only operators see them.",
  ),
  outputs: maybe(
    z.array(OutputCopy),
    "What the relay has kept of each output, in the order of `output.urls`, where these are links of the relay.",
  ),
};
const FAILED_FIELDS = {
  ...FAILED,
  ...ENDED_FIELDS,
  failure: maybe(
    z.strictObject({
      category: z.enum(FAILURE_CATEGORIES),
      retryable: z.boolean(),
      request_ids: maybe(
        z.array(z.string()),
        "Ids of the upstream's requests, as its text named them. Only operators see them.",
      ),
    }),
    "Kind of the failure, where known.",
  ),
};

const OpenTask = named(
  "OpenTask",
  z.strictObject(OPEN_FIELDS),
  "A task whose result is not known yet.",
);
const CompletedTask = named(
  "CompletedTask",
  z.strictObject(COMPLETED_FIELDS),
  "A task that has completed. It begins with the body of its callback, byte for byte.",
);
const FailedTask = named(
  "FailedTask",
  z.strictObject(FAILED_FIELDS),
  "A task that has failed. It begins with the body of its callback, byte for byte.",
);
export const Task = named(
  "Task",
  z.discriminatedUnion("status", [OpenTask, CompletedTask, FailedTask]),
  "A task as its reader may see it. A member that does not apply is left out.",
);

const REGISTERED_FIELDS = {
  hook_url: maybe(z.string(), "URL to pass to the provider for its hook."),
  hook_parameter: maybe(
    z.string(),
    "Name of the parameter of the provider's submit call that takes `hook_url`.",
  ),
  id_parameter: maybe(
    z.string(),
    "Name of the parameter of the provider's submit call that takes the id of the task.",
  ),
  status_url: described(
    z.string(),
    "Status link of the task: reads it without a key, from pages of any site, until 24 hours after its deadline.",
  ),
};

const STATUS_FIELDS = {
  callback: described(
    z.nullable(z.strictObject({ status: z.enum(CALLBACK_STATUSES) })),
    "Null without a `callback_url`.",
  ),
};

export const TaskStatus = named(
  "TaskStatus",
  z.discriminatedUnion("status", [
    z.strictObject({
      ...HEAD,
      status: OPEN_FIELDS.status,
      ...STATUS_FIELDS,
      progress: OPEN_FIELDS.progress,
    }),
    z.strictObject({ ...COMPLETED, ...STATUS_FIELDS, outputs: COMPLETED_FIELDS.outputs }),
    z.strictObject({ ...FAILED, ...STATUS_FIELDS, failure: FAILED_FIELDS.failure }),
  ]),
  "A task as whoever has its status link sees it.",
);

export const RegisteredTask = named(
  "RegisteredTask",
  z.discriminatedUnion("status", [
    z.strictObject({ ...OPEN_FIELDS, ...REGISTERED_FIELDS }),
    z.strictObject({ ...COMPLETED_FIELDS, ...REGISTERED_FIELDS }),
    z.strictObject({ ...FAILED_FIELDS, ...REGISTERED_FIELDS }),
  ]),
  "A registered task, with what its submit call to the provider must pass on.",
);

/** Schema of the body of the callback `task.completed`. `FailedCallback` is the schema for `task.failed`. */
export const CompletedCallback = named(
  "CompletedCallback",
  z.strictObject(COMPLETED),
  "Body of the callback of a completed task.",
);
export const FailedCallback = named(
  "FailedCallback",
  z.strictObject(FAILED),
  "Body of the callback of a failed task.",
);

/** Schema of the body of a progress callback, `task.processing`. */
export const ProgressCallback = named(
  "ProgressCallback",
  z.strictObject({
    id: Id,
    status: z.literal("processing"),
    model: z.string(),
    created_at: Time,
    progress: described(
      z.nullable(z.int().check(z.minimum(0), z.maximum(100))),
      "Percent, where the upstream states it.",
    ),
  }),
  "A running task, as the body of a progress callback.",
);

export const TaskCount = named(
  "TaskCount",
  z.strictObject({
    count: Count,
    is_capped: described(z.boolean(), "Whether there are rows that were not read."),
  }),
  "Number of the tasks of a list.",
);

/** Schema of a task in a list. All its members come from the index. */
export const ListedTask = named(
  "ListedTask",
  z.strictObject({
    ...HEAD,
    status: z.enum(["pending", "processing", "completed", "failed"]),
    completed_at: z.optional(Time),
    finished_at: z.optional(Time),
    settled_at: maybe(Time, "When the last attempt of the callback ended."),
    failure: maybe(
      z.strictObject({ category: z.enum(FAILURE_CATEGORIES) }),
      "Kind of the failure of a failed task, where it is known.",
    ),
    submission: maybe(
      z.strictObject({
        state: z.enum(["queued", "sending", "accepted", "unknown", "refused"]),
        refusal: Refusal,
      }),
      "The call with which the relay started the job.",
    ),
    account: z.optional(z.string()),
    credits: maybe(
      z.strictObject({
        amount: described(z.int(), "Credits that were charged."),
        state: z.enum(["charged", "releasing", "released", "refunding", "refunded"]),
        final: maybe(z.int(), "What the completed task costs, where that is less."),
      }),
      "As in the task; absent when it costs nothing.",
    ),
    provider: maybe(z.string(), "The connection. Only operators see it."),
    upstream: maybe(z.strictObject({ id: z.string() }), "The attached job. Only operators see it."),
    callback: z.nullable(
      z.strictObject({
        status: z.enum(CALLBACK_STATUSES),
        host: z.nullable(z.string()),
        attempts: described(Count, "Number of attempts so far."),
        last_outcome: z.optional(z.string()),
        last_status_code: z.optional(z.int()),
      }),
    ),
  }),
  "A task in a list.",
);

/** A task as the caller may see it: the response to `GET /v1/tasks/{id}`. */
export type Task = Plain<z.output<typeof Task>>;

/** A task as everybody who has its status link sees it. */
export type TaskStatus = Plain<z.output<typeof TaskStatus>>;

/** The callback of a task that has a `callback_url`. */
export type TaskCallback = NonNullable<Task["callback"]>;

/** One attempt of a callback, i.e. one request to its URL, as the API shows it. */
export type TaskAttempt = TaskCallback["attempts"][number];

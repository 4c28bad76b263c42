import * as z from "zod/mini";
import { ENDED_CALLBACK_STATUSES } from "../../core/record/callback.ts";
import { CALLBACK_EVENTS } from "../../core/record/callback-events.ts";
import { CAUSES, OUTCOMES } from "../../core/record/outcome.ts";
import { Count, described, DurationMs, maybe, named, Time } from "./described.ts";

/** Members that describe how an attempt ended. They belong to the attempts of a task and to a test callback. */
const OUTCOME_FIELDS = {
  cause: maybe(z.enum(CAUSES), "Why the receiver was `unreachable`."),
  status_code: maybe(z.int(), "HTTP status of the receiver's answer."),
  cloudflare_error: maybe(
    z.int(),
    "Code of the error that Cloudflare answered in place of the receiver.",
  ),
};

const Outcome = named(
  "Outcome",
  z.enum(OUTCOMES),
  "How an attempt ended. Only `delivered`, any 2xx, is a success.",
);

const OrderedBy = maybe(
  z.string(),
  "Name of the key that ordered the redelivery. Only operators see it.",
);

const ResponseExcerpt = maybe(
  z.string(),
  "At most 1 KiB of the receiver's answer. Only operators see it.",
);

const ScheduleS = maybe(
  z.array(Count),
  "Waits before the attempts, in seconds, where the task has waits of its own.",
);

const EndpointOfCallback = maybe(
  z.string(),
  "Name of the endpoint that gets the callback, as it was when the task was created.",
);

const Events = maybe(
  z.array(z.enum(CALLBACK_EVENTS)),
  "Events of which the receiver is told, where they are not `completed` and `failed`.",
);

/** Members that describe the HTTP request of a callback: its method, URL, headers and body. */
export const SENT_FIELDS = {
  method: z.literal("POST"),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  hidden_headers: maybe(
    z.array(z.string()),
    "Names of the headers of the endpoint, which are sent too. Their values are shown to nobody.",
  ),
  body: described(z.string(), "The exact bytes, as text."),
};

const Attempt = named(
  "Attempt",
  z.strictObject({
    number: described(z.int(), "Number of the attempt, from 1 over all series: `X-Attempt`."),
    series: described(
      z.int(),
      "1 for the automatic attempts; each redelivery starts another series.",
    ),
    url: maybe(z.string(), "URL of the attempt, when the callback has another one now."),
    started_at: Time,
    late_ms: maybe(z.int(), "How long after its planned time the attempt started."),
    after_ms: maybe(z.int(), "How long after the end of the task the attempt started."),
    duration_ms: z.optional(DurationMs),
    outcome: z.optional(Outcome),
    ...OUTCOME_FIELDS,
    answer: maybe(
      z.strictObject({
        content_type: z.optional(z.string()),
        location_host: maybe(z.string(), "Host to which a redirect points."),
        retry_after: maybe(z.string(), "`Retry-After`, which is not obeyed."),
      }),
      "Headers of the receiver's answer. Only operators see them.",
    ),
    response_excerpt: ResponseExcerpt,
    ordered_by: OrderedBy,
  }),
  "One request of a callback. One that is running has neither `duration_ms` nor `outcome`.",
);

export const WaitingCallback = named(
  "WaitingCallback",
  z.strictObject({
    url: z.string(),
    endpoint: EndpointOfCallback,
    schedule_s: ScheduleS,
    events: Events,
    status: z.literal("waiting"),
    attempts: z.array(Attempt).check(z.maxLength(0)),
  }),
  "The callback of an open task.",
);

export const Callback = named(
  "Callback",
  z.strictObject({
    url: z.string(),
    endpoint: EndpointOfCallback,
    schedule_s: ScheduleS,
    events: Events,
    status: described(
      z.enum(ENDED_CALLBACK_STATUSES),
      "State of the latest series. `sending` until its first attempt has ended, then `retrying` until one is delivered or the last has failed: the next attempt is under way, or waits until `next_attempt_at`. `paused` while the next attempt is due, and the operator has paused the receiver's host.",
    ),
    attempts: described(z.array(Attempt), "The last 20 attempts, oldest first."),
    waits_for: maybe(z.literal("refund"), "The first attempt waits until credits are refunded."),
    paused: maybe(z.literal(true), "The relay is paused, which holds the next attempt back."),
    next_attempt_at: z.optional(Time),
    paused_until: maybe(
      Time,
      "While `paused`: end of the pause. The attempt is made in the ten minutes after it.",
    ),
    ordered_by: OrderedBy,
    delivered_at: maybe(Time, "When an attempt first succeeded."),
  }),
  "The callback of a finished task.",
);

export const TestOutcome = named(
  "TestOutcome",
  z.strictObject({
    outcome: Outcome,
    ...OUTCOME_FIELDS,
    duration_ms: Count,
    response_excerpt: ResponseExcerpt,
    request: z.strictObject(SENT_FIELDS),
  }),
  "How a test callback ended.",
);

import * as z from "zod/mini";
import type { PollReason } from "../../core/polls/next-poll.ts";
import { ANSWER_KINDS } from "../../core/record/poll-plan.ts";
import { HOOK_REFUSALS } from "../../core/record/tracking.ts";
import { Count, maybe, named, Time } from "./described.ts";

const POLL_REASONS = [
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
] as const satisfies readonly PollReason[];

export const Tracking = named(
  "Tracking",
  z.strictObject({
    paused: maybe(z.literal(true), "The relay is paused, which holds the polls back."),
    answer: maybe(z.enum([...ANSWER_KINDS, "unanswered"]), "What the upstream answers to polls."),
    answer_since: maybe(Time, "Since when the upstream has answered so."),
    asked_at: maybe(Time, "The last poll."),
    next_poll_at: z.optional(Time),
    next_poll_reason: maybe(z.enum(POLL_REASONS), "Why the next poll is made then."),
    is_extended: maybe(z.boolean(), "Whether the deadline was extended."),
    hooks_taken: maybe(Count, "Hooks that changed the task."),
    hooks_kept: maybe(Count, "Hooks that are kept until a job is attached."),
    hooks_refused: maybe(
      z.array(z.strictObject({ at: Time, reason: z.enum(HOOK_REFUSALS) })),
      "Hooks to the right URL that were not taken, the first three of each reason.",
    ),
    kept_jobs: maybe(z.array(z.string()), "Jobs that hooks have named while none is attached."),
    unclear: maybe(
      z.strictObject({
        since: Time,
        status_code: z.optional(z.int()),
        word: z.optional(z.string()),
      }),
      "The first of the answers that are not understood.",
    ),
    key_unreadable_since: maybe(
      Time,
      "Since when no value of `RELAY_SECRET` opens the customer's key, so that the job is not polled.",
    ),
  }),
  "What an open task waits for. Only operators see it.",
);

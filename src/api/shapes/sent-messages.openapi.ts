import * as z from "zod/mini";
import { OPERATOR_EVENT_TYPES } from "../../config/operator-events.ts";
import { LOSS_REASONS } from "../../core/record/outputs.ts";
import { LAGGING_CAUSES } from "../../outbound/operator-body.ts";
import type { Content } from "../http/route.openapi.ts";
import { AnyObject, Count, Id, Time } from "./described.ts";
import {
  CANCELED_TASK,
  COMPLETED_CALLBACK,
  COMPLETED_TASK,
  FAILED_CALLBACK,
  PROGRESS_CALLBACK,
  TASK_ID,
} from "./task-shape.openapi.ts";
import { CompletedCallback, FailedCallback, ProgressCallback, Task } from "./task-shape.ts";

/** Description of a request that the relay sends, e.g. a callback: a summary and the body. */
interface Webhook extends Content {
  readonly summary: string;
}

export type CallbackName = "task.completed" | "task.failed" | "task.processing";

const END_ATTEMPTS = "at most three automatic attempts";

/** The callbacks, which go to the `callback_url` of a task, by the value of their header `X-Event`. */
export const CALLBACKS: Readonly<Record<CallbackName, Webhook & { readonly attempts: string }>> = {
  "task.completed": {
    summary: "A task has completed",
    attempts: END_ATTEMPTS,
    schema: CompletedCallback,
    example: COMPLETED_CALLBACK,
  },
  "task.failed": {
    summary: "A task has failed",
    attempts: END_ATTEMPTS,
    schema: FailedCallback,
    example: FAILED_CALLBACK,
  },
  "task.processing": {
    summary: "The job of a task runs, for receivers that ask for `progress`",
    attempts:
      "when the job is first known to run, and then at most every 10 s while the upstream states another percentage; one attempt each",
    schema: ProgressCallback,
    example: PROGRESS_CALLBACK,
  },
};

export type OperatorEventType = (typeof OPERATOR_EVENT_TYPES)[number];

/** Example of a completed task whose price depends on its usage, but whose upstream has not stated the usage. */
const PRICED_TASK = {
  ...COMPLETED_TASK,
  credits: { amount: 200, final: 200, state: "charged" as const, basis: "hold" as const },
};

const AboutTask = z.strictObject({ task: Task });
const ABOUT_TASK = { task: CANCELED_TASK };
/**
 * Members that operator events about a task's price have: the credits that the task costs, and the name of the usage
 * number or output field from which the price is computed.
 */
const PRICED = {
  credits: Count,
  usage: z.optional(z.string()),
  field: z.optional(z.string()),
};
const HOST = "client.example.com";
const SINCE_S = 1_767_225_600;

/**
 * The member `data` of every operator event (a message to the operator, e.g. about a failing host), by the type of the
 * event. The compiler reports a type that has no entry.
 */
const EVENT_DATA: Readonly<Record<OperatorEventType, Webhook>> = {
  "callback.failed": {
    summary: "A callback has used all its attempts, or, in a digest, several to one host have",
    schema: z.union([
      AboutTask,
      z.strictObject({ host: z.string(), since: Time, failed: Count, tasks: z.array(Id) }),
    ]),
    example: { host: HOST, since: SINCE_S, failed: 1, tasks: [TASK_ID] },
  },
  "refund.delayed": {
    summary: "Credits are not refunded or released after 5 minutes",
    schema: AboutTask,
    example: ABOUT_TASK,
  },
  "upstream.unclear": {
    summary: "The answers to the polls of a task have not been understood for an hour",
    schema: z.strictObject({
      task: Task,
      status_code: z.nullable(z.int()),
      word: z.nullable(z.string()),
    }),
    example: { ...ABOUT_TASK, status_code: 200, word: "archived" },
  },
  "upstream.no_output": {
    summary: "The upstream of a task has reported success without output for the second time",
    schema: AboutTask,
    example: ABOUT_TASK,
  },
  "task.late_result": {
    summary: "The job of a task has succeeded after the task failed with upstream_timeout",
    schema: z.strictObject({
      task: Task,
      output: z.nullable(z.strictObject({ urls: z.array(z.string()), metadata: AnyObject })),
    }),
    example: { ...ABOUT_TASK, output: COMPLETED_CALLBACK.output },
  },
  "key.unreadable": {
    summary: "No value of RELAY_SECRET opens the customer's key of an open task any more",
    schema: AboutTask,
    example: ABOUT_TASK,
  },
  "output.lost": {
    summary:
      "Outputs of a task could not be copied, and their links end with those of the upstream",
    schema: z.strictObject({
      task: Task,
      outputs: z.array(z.strictObject({ number: z.int(), reason: z.enum(LOSS_REASONS) })),
    }),
    example: { ...ABOUT_TASK, outputs: [{ number: 1, reason: "refused" }] },
  },
  "price.unknown": {
    summary:
      "The price of a completed task is not known, so that all credits of the charge are kept",
    schema: z.strictObject({
      task: Task,
      ...PRICED,
      reason: z.enum(["absent", "not_positive", "no_rate"]),
    }),
    example: { task: PRICED_TASK, credits: 200, usage: "completion_tokens", reason: "absent" },
  },
  "price.above_hold": {
    summary: "The price of a completed task is above the credits that were charged",
    schema: z.strictObject({ task: Task, ...PRICED, missing: Count }),
    example: { task: PRICED_TASK, credits: 200, usage: "completion_tokens", missing: 34 },
  },
  "account.low_balance": {
    summary: "The balance of an account has fallen below its low_balance",
    schema: z.strictObject({ account: z.string(), balance: z.int(), low_balance: z.int() }),
    example: { account: "acme", balance: 180, low_balance: 200 },
  },
  "host.failing": {
    summary: "Ten attempts to one host failed within 10 minutes",
    schema: z.strictObject({ host: z.string() }),
    example: { host: HOST },
  },
  "provider.unauthorized": {
    summary: "A provider refuses a key",
    schema: z.strictObject({ connection: z.string() }),
    example: { connection: "fal" },
  },
  "provider.funds": {
    summary:
      "A provider refuses submissions, or a job has failed, because the account there has no money left",
    schema: z.strictObject({ connection: z.string() }),
    example: { connection: "fal" },
  },
  "index.lagging": {
    summary: "Tasks should have changed 10 minutes ago, or the hourly counts are out of date",
    schema: z.strictObject({ overdue: Count, cause: z.enum(LAGGING_CAUSES) }),
    example: { overdue: 12, cause: "tasks_overdue" },
  },
  "index.full": {
    summary: "The database of the index has reached 80 % of its largest size",
    schema: z.strictObject({ bytes: Count, max_bytes: Count }),
    example: { bytes: 8_589_934_592, max_bytes: 10_737_418_240 },
  },
  "events.silent": {
    summary: "No task has ended for SILENCE_MINUTES",
    schema: z.strictObject({ since: Time, minutes: z.number() }),
    example: { since: SINCE_S, minutes: 30 },
  },
};

/**
 * The operator events, by their type: messages about the relay itself, e.g. about a failing host, which it
 * sends to `OPERATOR_CALLBACK_URL`.
 */
export const OPERATOR_EVENTS: readonly (Webhook & { readonly type: OperatorEventType })[] =
  OPERATOR_EVENT_TYPES.map((type) => {
    const { summary, schema: data, example } = EVENT_DATA[type];
    const schema = z.strictObject({ type: z.literal(type), timestamp: Time, data });
    return { type, summary, schema, example: { type, timestamp: SINCE_S, data: example } };
  });

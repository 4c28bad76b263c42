import * as z from "zod/mini";
import { Count, described, Id, named, Time } from "../../../../src/api/shapes/described.ts";

const Buckets = z.array(Count);
const Maybe = z.nullable(Time);
const Ratio = z.nullable(z.number());
const Outcome = z.nullable(z.string());
const Code = z.nullable(z.int());
const Capped = z.strictObject({
  count: Count,
  is_capped: described(z.boolean(), "Whether there may be more."),
});

const TaskCounts = z.strictObject({
  total: Count,
  pending: Count,
  processing: Count,
  completed: Count,
  failed: Count,
  failures: described(
    z.record(z.string(), Count),
    "Failed tasks by category of the failure, as `failure` of a task has it; `unknown`: without one. Others are 0.",
  ),
});
const CALLBACK_COUNTS = {
  waiting: Count,
  sending: Count,
  delivered: Count,
  failed: Count,
  attempts: Count,
};

export const AccountStats = named(
  "AccountStats",
  z.strictObject({
    since: Time,
    until: Time,
    oldest_at: described(Maybe, "Creation time of the oldest counted task."),
    is_capped: described(
      z.boolean(),
      "Whether older tasks of the window may be missing: the count has reached its limit.",
    ),
    tasks: TaskCounts,
    callbacks: z.strictObject({ ...CALLBACK_COUNTS, success_rate: Ratio }),
  }),
  "Counts of the tasks of an account.",
);

export const Series = named(
  "Series",
  z.strictObject({
    counted_at: Maybe,
    since: Time,
    until: Time,
    step_s: z.int(),
    bounds_ms: described(z.array(z.number()), "Upper bounds of the buckets of each histogram."),
    steps: z.array(
      z.strictObject({
        at: described(Time, "Begin of the hour or day that these counts are about."),
        tasks: TaskCounts,
        callbacks: z.strictObject({
          ...CALLBACK_COUNTS,
          outcomes: described(
            z.record(z.string(), Count),
            "Number of the attempts that have ended with each outcome; others are 0.",
          ),
        }),
        latency: z.strictObject({ first_attempt: Buckets, settled: Buckets }),
      }),
    ),
  }),
  "Counts and latency histograms of the tasks created in each step of a window.",
);

const WINDOW = {
  since: Time,
  until: Time,
  counted_at: Maybe,
  hours: described(z.array(Time), "Begin of each of the 24 hours."),
};

const HOST = {
  host: z.string(),
  callbacks: z.strictObject({ total: Count, delivered: Count, failed: Count, sending: Count }),
  success_rate: Ratio,
  attempts_per_callback: Ratio,
  failing: described(
    z.nullable(
      z.strictObject({
        since: Time,
        failed: Count,
        sending: Count,
        is_capped: z.boolean(),
        outcome: Outcome,
        status_code: Code,
      }),
    ),
    "How the host fails at present; null when it does not.",
  ),
  last_failed_at: Maybe,
  last_delivered_hour: Maybe,
  callbacks_by_hour: Buckets,
  failed_by_hour: Buckets,
};

export const Hosts = named(
  "Hosts",
  z.strictObject({ ...WINDOW, total: Count, data: z.array(z.strictObject(HOST)) }),
  "The receivers' hosts with their callbacks of the last 24 hours.",
);

export const Host = named(
  "Host",
  z.strictObject({
    ...WINDOW,
    ...HOST,
    last_delivered_at: Maybe,
    failures: z.strictObject({
      outcomes: z.array(
        z.strictObject({
          outcome: Outcome,
          status_code: Code,
          tasks: Count,
          first_at: Maybe,
          last_at: Maybe,
          task_id: z.nullable(Id),
        }),
      ),
      accounts: z.array(z.strictObject({ account: z.nullable(z.string()), tasks: Count })),
      sending: Count,
      first_failed_at: Maybe,
      is_capped: z.boolean(),
    }),
  }),
  "One host, and how its callbacks fail.",
);

const Open = z.strictObject({
  at: described(Time, "When they were counted, up to four minutes ago."),
  is_capped: described(z.boolean(), "Whether there may be more, of any connection."),
  connections: described(
    z.array(
      z.strictObject({
        connection: described(z.nullable(z.string()), "Null for the tasks that name none."),
        pending: Count,
        processing: Count,
      }),
    ),
    "Those with open tasks, the one with the most first.",
  ),
});

export const Troubles = named(
  "PresentProblems",
  z.strictObject({
    at: Time,
    data: z.array(
      z.strictObject({
        kind: z.string(),
        severity: described(
          z.enum(["error", "warning", "notice"]),
          "`error` when tasks are affected now, `warning` when they may be, `notice` for doubtful settings.",
        ),
        detail: z.string(),
        since: Maybe,
        tasks: z.nullable(Capped),
        subject: described(
          z.record(z.string(), z.nullable(z.union([z.string(), z.number()]))),
          "What it is about, e.g. a `host`, a `connection` or a `variable`.",
        ),
        actions: described(
          z.array(
            z.strictObject({
              name: z.enum(["inspect", "list", "test", "redeliver", "wake"]),
              method: z.enum(["GET", "POST"]),
              path: z.string(),
            }),
          ),
          "Requests that look into it or end it.",
        ),
      }),
    ),
    now: described(
      z.nullable(
        z.strictObject({
          unsettled: Capped,
          oldest_at: Maybe,
          overdue: Capped,
          sending: Capped,
          refunding: Capped,
          open: described(Open, "The tasks without a result, by connection to a provider."),
        }),
      ),
      "The work of this moment; null without an index.",
    ),
  }),
  "What is wrong with the relay at present, the gravest first.",
);

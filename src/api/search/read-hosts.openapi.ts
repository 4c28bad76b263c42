import * as z from "zod/mini";
import { limit } from "../http/query.openapi.ts";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { Count, described, Id, named, Time } from "../shapes/described.ts";
import { Ratio } from "./count-views.openapi.ts";

const CountByHour = z.array(Count);

const Maybe = z.nullable(Time);

const Outcome = z.nullable(z.string());

const Code = z.nullable(z.int());

const WINDOW_FIELDS = {
  since: Time,
  until: Time,
  counted_at: Maybe,
  hours: described(z.array(Time), "Begin of each of the 24 hours."),
};

const HOST_FIELDS = {
  host: z.string(),
  callbacks: z.strictObject({
    total: Count,
    delivered: Count,
    failed: Count,
    sending: Count,
    retrying: Count,
    paused: Count,
  }),
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
  paused_until: described(Maybe, "End of the host's pause; null when it is not paused."),
  last_failed_at: Maybe,
  last_delivered_hour: Maybe,
  callbacks_by_hour: CountByHour,
  failed_by_hour: CountByHour,
};

const Hosts = named(
  "Hosts",
  z.strictObject({ ...WINDOW_FIELDS, total: Count, data: z.array(z.strictObject(HOST_FIELDS)) }),
  "The receivers' hosts with their callbacks of the last 24 hours.",
);

const Tasks = z.strictObject({ account: z.nullable(z.string()), tasks: Count });

const Host = named(
  "Host",
  z.strictObject({
    ...WINDOW_FIELDS,
    ...HOST_FIELDS,
    last_delivered_at: Maybe,
    accounts: described(
      z.array(Tasks),
      "Accounts whose callbacks go to the host, at most 20, by the newest 2,000 tasks of the relay; null stands for tasks without an account.",
    ),
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
      accounts: z.array(Tasks),
      sending: Count,
      first_failed_at: Maybe,
      is_capped: z.boolean(),
    }),
  }),
  "One host, and how its callbacks fail.",
);

const SINCE_S = 1_767_139_200;

const HOURS = Array.from({ length: 24 }, (_, n) => SINCE_S + n * 3600);

const WINDOW = {
  since: SINCE_S,
  until: SINCE_S + 86_400,
  counted_at: SINCE_S + 86_000,
  hours: HOURS,
};

const HOST = {
  host: "client.example.com",
  callbacks: { total: 24, delivered: 24, failed: 0, sending: 0, retrying: 0, paused: 0 },
  success_rate: 1,
  attempts_per_callback: 1,
  failing: null,
  paused_until: null,
  last_failed_at: null,
  last_delivered_hour: SINCE_S + 82_800,
  callbacks_by_hour: HOURS.map(() => 1),
  failed_by_hour: HOURS.map(() => 0),
};

export const listHostsDescription = {
  audience: "operator",
  summary: "List the receivers' hosts with their callbacks of the last 24 hours, worst first",
  request: { query: { limit: limit(500, 100) } },
  answers: {
    200: jsonAnswer("the hosts, those that fail at present first", Hosts, {
      ...WINDOW,
      total: 1,
      data: [HOST],
    }),
  },
  problems: ["index_disabled"],
} as const satisfies RouteDescription;

export const readHostDescription = {
  audience: "operator",
  summary: "Read how the callbacks to one host went in the last 24 hours, and how they fail",
  answers: {
    200: jsonAnswer("the host, also one that the index does not know", Host, {
      ...WINDOW,
      ...HOST,
      last_delivered_at: SINCE_S + 86_300,
      accounts: [{ account: "acme", tasks: 24 }],
      failures: {
        outcomes: [],
        accounts: [],
        sending: 0,
        first_failed_at: null,
        is_capped: false,
      },
    }),
  },
  problems: ["index_disabled"],
} as const satisfies RouteDescription;

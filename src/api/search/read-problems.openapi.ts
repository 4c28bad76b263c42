import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { Count, described, named, Time } from "../shapes/described.ts";

const Maybe = z.nullable(Time);

const Capped = z.strictObject({
  count: Count,
  is_capped: described(z.boolean(), "Whether there may be more."),
});

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

const Troubles = named(
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

const SINCE_S = 1_767_139_200;

const NONE = { count: 0, is_capped: false };

export const readProblemsDescription = {
  audience: "operator",
  summary: "List the present problems of the relay, and count what it has to do now",
  details: "Each comes with the requests that help. Needs no index.",
  answers: {
    200: jsonAnswer("the problems, the gravest first", Troubles, {
      at: SINCE_S,
      data: [
        {
          kind: "paused",
          severity: "warning",
          detail: "PAUSED is on: callbacks and polls wait.",
          since: null,
          tasks: null,
          subject: { variable: "PAUSED" },
          actions: [],
        },
      ],
      now: {
        unsettled: { count: 3, is_capped: false },
        oldest_at: SINCE_S - 60,
        overdue: NONE,
        sending: NONE,
        refunding: NONE,
        open: {
          at: SINCE_S,
          is_capped: false,
          connections: [{ connection: "ark", pending: 1, processing: 2 }],
        },
      },
    }),
  },
  problems: [],
} as const satisfies RouteDescription;

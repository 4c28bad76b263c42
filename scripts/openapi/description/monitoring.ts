import { jsonAnswer, type RouteDescription } from "./description.ts";
import { limit, WINDOW_PARAMETERS } from "./parameters.ts";
import { Host, Hosts, Series, Troubles } from "./schemas/monitoring.ts";

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
  callbacks: { total: 24, delivered: 24, failed: 0, sending: 0 },
  success_rate: 1,
  attempts_per_callback: 1,
  failing: null,
  last_failed_at: null,
  last_delivered_hour: SINCE_S + 82_800,
  callbacks_by_hour: HOURS.map(() => 1),
  failed_by_hour: HOURS.map(() => 0),
};
const NONE = { count: 0, is_capped: false };

/** Descriptions of the routes that show how the relay and its receivers are doing. */
export const MONITORING_ROUTES = {
  readSeries: {
    audience: "operator",
    summary: "Read the counts and latency histograms of the tasks created in each hour or day",
    details: "At most 200 steps; by default those of the last 25 hours, or of 30 days.",
    request: {
      query: {
        ...WINDOW_PARAMETERS,
        step: {
          description: "Length of a step in seconds: `3600` (the default) or `86400`.",
          example: "3600",
        },
      },
    },
    answers: {
      200: jsonAnswer("one entry for each step, also for those without tasks", Series, {
        counted_at: WINDOW.counted_at,
        since: SINCE_S,
        until: SINCE_S + 3600,
        step_s: 3600,
        bounds_ms: [100, 1000],
        steps: [
          {
            at: SINCE_S,
            tasks: {
              total: 6,
              pending: 0,
              processing: 1,
              completed: 4,
              failed: 1,
              failures: { moderation: 1 },
            },
            callbacks: {
              waiting: 1,
              sending: 0,
              delivered: 4,
              failed: 0,
              attempts: 5,
              outcomes: { delivered: 4, timeout: 1 },
            },
            latency: { first_attempt: [4, 0, 0], settled: [3, 1, 0] },
          },
        ],
      }),
    },
    problems: ["index_disabled"],
  },
  listHosts: {
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
  },
  readHost: {
    audience: "operator",
    summary: "Read how the callbacks to one host went in the last 24 hours, and how they fail",
    answers: {
      200: jsonAnswer("the host, also one that the index does not know", Host, {
        ...WINDOW,
        ...HOST,
        last_delivered_at: SINCE_S + 86_300,
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
  },
  readProblems: {
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
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;

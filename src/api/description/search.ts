import type { RouteDescription } from "./description.ts";

/** Descriptions of the routes that read the index or work on many tasks. */
export const SEARCH_ROUTES = {
  readStats: {
    audience: "operator",
    summary: "Read counts, rates and latencies of the tasks created in a window of whole hours",
    answers: { 200: { description: "the statistics" } },
    problems: ["index_disabled"],
  },
  readSeries: {
    audience: "operator",
    summary: "Read the counts and latency histograms of the tasks created in each hour or day",
    answers: { 200: { description: "one entry for each step, also for those without tasks" } },
    problems: ["index_disabled"],
  },
  listHosts: {
    audience: "operator",
    summary: "List the receivers' hosts with their callbacks of the last 24 hours, worst first",
    answers: { 200: { description: "the hosts, those that fail at present first" } },
    problems: ["index_disabled"],
  },
  readHost: {
    audience: "operator",
    summary: "Read how the callbacks to one host went in the last 24 hours, and how they fail",
    answers: { 200: { description: "the host, also one that the index does not know" } },
    problems: ["index_disabled"],
  },
  readProblems: {
    audience: "operator",
    summary: "List the present problems of the relay, and count what it has to do now",
    answers: { 200: { description: "the problems, the gravest first" } },
    problems: [],
  },
  readMetrics: {
    audience: "operator",
    summary: "Read totals, and counts and latencies of the last 48 hours, for Prometheus",
    answers: { 200: { description: "the metrics; as OpenMetrics where Accept asks for it" } },
    problems: ["index_disabled"],
  },
  redeliverMany: {
    audience: "operator",
    summary:
      "Redeliver the settled callbacks of a list, one page per call; ?dry_run=true only counts",
    answers: { 200: { description: "counts of this page; repeat the call with next_cursor" } },
    problems: ["index_disabled"],
  },
  reindex: {
    audience: "operator",
    summary: "Rebuild the index rows of up to 500 tasks",
    answers: {
      200: { description: "counts of tasks that will be written, are unknown, or failed" },
    },
    problems: ["index_disabled"],
  },
  wakeTasks: {
    audience: "operator",
    summary: "Start the due work of up to 500 tasks, also of those whose alarms were lost",
    answers: {
      200: {
        description: "counts of tasks that were woken, are unknown, or failed; and next_cursor",
      },
    },
    problems: ["index_disabled"],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;

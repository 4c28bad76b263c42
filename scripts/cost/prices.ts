/** List price of one billed operation or amount, and what the Paid plan includes of it each month. */
export interface Price {
  /** Name of the operation or amount. */
  readonly title: string;
  readonly dollars: number;
  /** Number of units that the price is for. */
  readonly per: number;
  /** Unit of the price as it is written in documents. */
  readonly unit: string;
  /** Number of units without charge each month. */
  readonly included: number;
  readonly source: { readonly name: string; readonly url: string };
  /** Date or month in which the source has stated this price. */
  readonly asOf: string;
}

const MILLION = 1_000_000;
const CLOUDFLARE = "https://developers.cloudflare.com";
const AS_OF = "November 2026";
const R2_AS_OF = "stored copy, read on 27 November 2026";

const WORKERS = { name: "Workers", url: `${CLOUDFLARE}/workers/platform/pricing/` };
const OBJECTS = {
  name: "Durable Objects",
  url: `${CLOUDFLARE}/durable-objects/platform/pricing/`,
};
const D1 = { name: "D1", url: `${CLOUDFLARE}/d1/platform/pricing/` };
const LOGS = {
  name: "Workers Logs",
  url: `${CLOUDFLARE}/workers/observability/logs/workers-logs/`,
};
const QUEUES = { name: "Queues", url: `${CLOUDFLARE}/queues/platform/pricing/` };
const ANALYTICS = {
  name: "Analytics Engine",
  url: `${CLOUDFLARE}/analytics/analytics-engine/pricing/`,
};
const R2 = { name: "R2", url: `${CLOUDFLARE}/r2/pricing/` };
const WORKFLOWS = {
  name: "Workflows",
  url: `${CLOUDFLARE}/changelog/post/2026-07-07-workflows-billing-updates/`,
};
const QSTASH = { name: "QStash", url: "https://upstash.com/docs/qstash/overall/pricing" };

/** The prices by billed operation or amount. `npm run docs` writes them into docs/cost.md. */
export const PRICES = {
  workerRequests: perMillion("requests to the Worker", 0.3, 10 * MILLION, WORKERS),
  cpuMs: perMillion("CPU time of the Worker, ms", 0.02, 30 * MILLION, WORKERS),
  objectRequests: perMillion("requests to objects", 0.15, MILLION, OBJECTS),
  durationGbS: perMillion("duration of objects, GB-s", 12.5, 400_000, OBJECTS),
  rowsWritten: perMillion("rows of objects written", 1, 50 * MILLION, OBJECTS),
  rowsRead: perMillion("rows of objects read", 0.001, 25_000 * MILLION, OBJECTS),
  objectGbMonths: perGbMonth("storage of objects", 0.2, 5, OBJECTS),
  d1Written: perMillion("rows of D1 written", 1, 50 * MILLION, D1),
  d1Read: perMillion("rows of D1 read", 0.001, 25_000 * MILLION, D1),
  d1GbMonths: perGbMonth("storage of D1", 0.75, 5, D1),
  logLines: perMillion("log lines", 0.6, 20 * MILLION, LOGS),
  queueOperations: perMillion("queue operations", 0.4, MILLION, QUEUES),
  dataPoints: perMillion("points of Analytics Engine", 0.25, 10 * MILLION, ANALYTICS),
  r2ClassA: { ...perMillion("Class A operations of R2", 4.5, MILLION, R2), asOf: R2_AS_OF },
  r2ClassB: { ...perMillion("Class B operations of R2", 0.36, 10 * MILLION, R2), asOf: R2_AS_OF },
  r2GbMonths: { ...perGbMonth("storage of R2", 0.015, 10, R2), asOf: R2_AS_OF },
  workflowSteps: {
    ...perMillion("steps of Workflows", 8, 500_000, WORKFLOWS),
    asOf: "7 July 2026, billed since August",
  },
  workflowGbMonths: {
    ...perGbMonth("storage of Workflows", 0.2, 1, WORKFLOWS),
    asOf: "7 July 2026, billed since August",
  },
  qstashMessages: {
    ...perMillion("messages of QStash", 10, 0, QSTASH),
    asOf: "undated copy, read on 22 November 2026",
  },
} as const satisfies Readonly<Record<string, Price>>;

export type Meter = keyof typeof PRICES;

/** Price of the Paid plan of Workers in dollars per month. */
export const PLAN_DOLLARS = 5;

function perMillion(
  title: string,
  dollars: number,
  included: number,
  source: Price["source"],
): Price {
  return { title, dollars, per: MILLION, unit: "million", included, source, asOf: AS_OF };
}

function perGbMonth(
  title: string,
  dollars: number,
  included: number,
  source: Price["source"],
): Price {
  return { title, dollars, per: 1, unit: "GB and month", included, source, asOf: AS_OF };
}

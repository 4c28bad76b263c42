interface Binding {
  readonly type: string;
  readonly purpose: string;
}

const LIMIT = "rate limit (`[[ratelimits]]`)";

/** The bindings of the relay that `wrangler.toml` shows, by their names. */
export const BINDINGS: Readonly<Record<string, Binding>> = {
  TASKS: { type: "Durable Object `TaskObject`", purpose: "one object per task; required" },
  ACCOUNTS: {
    type: "Durable Object `AccountObject`",
    purpose: "accounts, and small shared counters; required",
  },
  INDEX_DB: {
    type: "D1 database",
    purpose:
      "lists, statistics, bulk redelivery; wrangler creates it at the first deploy, near the machine that deploys. To choose its place (`LOCATION_HINT` and `JURISDICTION` place only objects), create it before: `npx wrangler d1 create task-relay-index --location weur` (or `--jurisdiction eu`), and add its `database_id`. `INDEX_DB_1`, `INDEX_DB_2` … are [shards of the index](index.md#size) by time",
  },
  INDEX_QUEUE: {
    type: "queue",
    purpose: "writes index rows in batches, for many tasks per second",
  },
  METRICS: {
    type: "Analytics Engine dataset",
    purpose: "one [data point](index.md#metrics) per attempt, poll and refused credential",
  },
  LIMIT_TESTS: {
    type: LIMIT,
    purpose: "test callbacks of an account: see [limits](api.md#limits)",
  },
  LIMIT_BULK: { type: LIMIT, purpose: "bulk redeliveries of an account" },
  LIMIT_LISTS: { type: LIMIT, purpose: "lists and other expensive requests of an account" },
  LIMIT_REFUSALS: { type: LIMIT, purpose: "failed credentials of an address" },
  VERSION: {
    type: "version metadata",
    purpose: "id of the deployed version, in `GET /healthz` and every log line",
  },
};

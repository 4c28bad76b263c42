import { OBJECT_CLASSES, type ObjectBinding } from "../../src/config/object-bindings.ts";

interface Binding {
  readonly type: string;
  readonly purpose: string;
}

const LIMIT = "rate limit (`[[ratelimits]]`)";

const OBJECTS: Readonly<Record<ObjectBinding, string>> = {
  TASKS: "tasks, one object each",
  ACCOUNTS: "credits and API keys of accounts",
  LISTENERS: "WebSockets of the [listeners](listen.md) of accounts",
  CONNECTION_OBJECTS:
    "what the tasks of a connection to an upstream share: the limit of polls, missing hooks, faults",
  HOSTS: "failures of a receiver's host, for the operator event `host.failing`",
  DIGESTS: "failed callbacks to a receiver's host, for `OPERATOR_DIGEST_MINUTES`",
  OUTPUT_OBJECTS: "copies of the outputs of tasks, one object for each task that has any",
  JOBS: "the task of each job that was submitted through the relay, for clients that read the job",
  CALLS: "calls whose client does not wait, or which are answered by the result, one object each",
  OFFER_BOOK: "[offers](accounts.md#offers) and their versions, in one object",
  QUEUES: "the places of each connection with `in_flight`, and the submissions that wait for one",
  DEPLOYMENT: "paused hosts, logouts of the console, and the times of alerts about the index",
};

/** Describes the binding of a class of objects. The relay answers 503 (`not_configured`) without it. */
function objectBinding(name: ObjectBinding): Binding {
  const type = `Durable Object \`${OBJECT_CLASSES[name]}\``;
  return { type, purpose: `${OBJECTS[name]}; required` };
}

/** The bindings of the relay that `wrangler.toml` shows, by their names. */
export const BINDINGS: Readonly<Record<string, Binding>> = {
  TASKS: objectBinding("TASKS"),
  ACCOUNTS: objectBinding("ACCOUNTS"),
  LISTENERS: objectBinding("LISTENERS"),
  CONNECTION_OBJECTS: objectBinding("CONNECTION_OBJECTS"),
  HOSTS: objectBinding("HOSTS"),
  DIGESTS: objectBinding("DIGESTS"),
  DEPLOYMENT: objectBinding("DEPLOYMENT"),
  OUTPUT_OBJECTS: objectBinding("OUTPUT_OBJECTS"),
  JOBS: objectBinding("JOBS"),
  CALLS: objectBinding("CALLS"),
  QUEUES: objectBinding("QUEUES"),
  OFFER_BOOK: objectBinding("OFFER_BOOK"),
  ASSETS: {
    type: "static assets (`[assets]`)",
    purpose: "the file `/openapi.json` for [other Workers](binding.md)",
  },
  INDEX_DB: {
    type: "D1 database",
    purpose:
      "lists, statistics, bulk redelivery; wrangler creates it at the first deploy, near the machine that deploys. To choose its place (`LOCATION_HINT` and `JURISDICTION` place only objects), create it before: `npx wrangler d1 create task-relay-index --location weur` (or `--jurisdiction eu`), and add its `database_id`. `INDEX_DB_1`, `INDEX_DB_2` … are [shards of the index](index.md#size) by time. On plain workerd the Durable Object `INDEX_OBJECT` [takes its place](index.md#in-an-object)",
  },
  INDEX_QUEUE: {
    type: "queue",
    purpose: "writes index rows in batches, for many tasks per second",
  },
  OUTPUTS: {
    type: "R2 bucket",
    purpose:
      "[outputs](outputs.md), the files that tasks generate; `npm run setup -- --outputs` creates it",
  },
  METRICS: {
    type: "Analytics Engine dataset",
    purpose:
      "one [data point](index.md#metrics) per attempt, poll, try to copy an output and refused credential",
  },
  LIMIT_TESTS: {
    type: LIMIT,
    purpose: "test callbacks of an account: see [limits](api.md#limits)",
  },
  LIMIT_BULK: { type: LIMIT, purpose: "bulk redeliveries of an account" },
  LIMIT_LISTS: { type: LIMIT, purpose: "lists and other expensive requests of an account" },
  LIMIT_SUBMITS: { type: LIMIT, purpose: "jobs that an account [submits](accounts.md#offers)" },
  LIMIT_LINKS: {
    type: LIMIT,
    purpose:
      "requests of an address with one status link, and those with the links to outputs of one task",
  },
  LIMIT_REFUSALS: { type: LIMIT, purpose: "failed credentials of an address" },
  VERSION: {
    type: "version metadata",
    purpose: "id of the deployed version, in `GET /healthz` and every log line",
  },
};

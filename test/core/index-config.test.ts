import { expect, it } from "vitest";
import { parseConfig } from "../../src/config/config.ts";
import { DAY, HOUR } from "./builders.ts";

const FLAGS = {
  global_fetch_strictly_public: true,
  durable_object_io_tasks_prevent_eviction: true,
};
const REQUIRED = { RELAY_SECRET: "r".repeat(32), OPERATOR_KEYS: "o".repeat(16) };
const DATABASE = {};
const THREE = { INDEX_DB: DATABASE, INDEX_DB_1: DATABASE, INDEX_DB_2: DATABASE };

it.each<[fault: string, name: string, bindings: object]>([
  ["a second database but no span", "INDEX_SHARD_HOURS", THREE],
  ["spans that overlap", "INDEX_SHARD_HOURS", { ...THREE, INDEX_SHARD_HOURS: 86 }],
  [
    "rows that stay too long for the spans",
    "INDEX_SHARD_HOURS",
    { ...THREE, INDEX_SHARD_HOURS: 87, INDEX_RETENTION_DAYS: 7.2 },
  ],
  [
    "tasks that are open too long for the spans",
    "INDEX_SHARD_HOURS",
    { ...THREE, INDEX_SHARD_HOURS: 87, TASK_DEADLINE_HOURS: 75 },
  ],
  ["a span for one database", "INDEX_SHARD_HOURS", { INDEX_DB: DATABASE, INDEX_SHARD_HOURS: 24 }],
  [
    "a gap in the numbers",
    "INDEX_DB_1",
    { ...THREE, INDEX_DB_1: undefined, INDEX_SHARD_HOURS: 87 },
  ],
  ["a number with a leading zero", "INDEX_DB_1", { INDEX_DB: DATABASE, INDEX_DB_01: DATABASE }],
  ["no first database", "INDEX_DB", { INDEX_DB_1: DATABASE, INDEX_SHARD_HOURS: 999 }],
  ["rows that outlive their tasks", "INDEX_RETENTION_DAYS", { INDEX_RETENTION_DAYS: 29 }],
])("the configuration of the index with %s is refused under the name %s", (_, name, bindings) => {
  const result = parseConfig({ ...REQUIRED, ...bindings }, FLAGS);
  expect(result).toMatchObject({ ok: false, error: [{ path: name }] });
});

it.each<[what: string, bindings: object, config: object]>([
  ["no index", {}, { isIndexed: false, indexDatabases: [], indexRetentionMs: 7 * DAY }],
  [
    "a shorter retention of tasks",
    { INDEX_DB: DATABASE, RETENTION_DAYS: 3 },
    { isIndexed: true, indexDatabases: ["INDEX_DB"], indexRetentionMs: 3 * DAY },
  ],
  [
    "three databases",
    { ...THREE, INDEX_SHARD_HOURS: 87 },
    { indexDatabases: Object.keys(THREE), indexShardMs: 87 * HOUR },
  ],
])("the configuration of the index with %s is accepted", (_, bindings, config) => {
  const result = parseConfig({ ...REQUIRED, ...bindings }, FLAGS);
  expect(result).toMatchObject({ ok: true, value: config });
});

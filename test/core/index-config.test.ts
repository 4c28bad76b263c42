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
  ["several databases for the index but no INDEX_SHARD_HOURS", "INDEX_SHARD_HOURS", THREE],
  [
    "INDEX_SHARD_HOURS too short for several databases of the index",
    "INDEX_SHARD_HOURS",
    { ...THREE, INDEX_SHARD_HOURS: 86 },
  ],
  [
    "INDEX_RETENTION_DAYS too long for INDEX_SHARD_HOURS",
    "INDEX_SHARD_HOURS",
    { ...THREE, INDEX_SHARD_HOURS: 87, INDEX_RETENTION_DAYS: 8 },
  ],
  [
    "TASK_DEADLINE_HOURS too long for INDEX_SHARD_HOURS",
    "INDEX_SHARD_HOURS",
    { ...THREE, INDEX_SHARD_HOURS: 87, TASK_DEADLINE_HOURS: 75 },
  ],
  [
    "INDEX_SHARD_HOURS but only one database for the index",
    "INDEX_SHARD_HOURS",
    { INDEX_DB: DATABASE, INDEX_SHARD_HOURS: 24 },
  ],
  [
    "a gap in the numbers of the databases of the index",
    "INDEX_DB_1",
    { ...THREE, INDEX_DB_1: undefined, INDEX_SHARD_HOURS: 87 },
  ],
  [
    "a database of the index whose number has a leading zero",
    "INDEX_DB_1",
    { INDEX_DB: DATABASE, INDEX_DB_01: DATABASE },
  ],
  ["INDEX_DB_1 but no INDEX_DB", "INDEX_DB", { INDEX_DB_1: DATABASE, INDEX_SHARD_HOURS: 999 }],
  [
    "both INDEX_DB and INDEX_OBJECT",
    "INDEX_OBJECT",
    { INDEX_DB: DATABASE, INDEX_OBJECT: DATABASE },
  ],
  [
    "INDEX_DB_1 beside INDEX_OBJECT",
    "INDEX_DB",
    { INDEX_OBJECT: DATABASE, INDEX_DB_1: DATABASE, INDEX_SHARD_HOURS: 999 },
  ],
  [
    "INDEX_RETENTION_DAYS above RETENTION_DAYS",
    "INDEX_RETENTION_DAYS",
    { INDEX_RETENTION_DAYS: 29 },
  ],
])(
  "a configuration with %s is refused with an error that names the variable %s",
  (_, name, bindings) => {
    const result = parseConfig({ ...REQUIRED, ...bindings }, FLAGS);
    expect(result).toMatchObject({ ok: false, error: [{ path: name }] });
  },
);

it("a configuration with both INDEX_DB and INDEX_OBJECT is refused with an error that names both and the cure", () => {
  const result = parseConfig({ ...REQUIRED, INDEX_DB: DATABASE, INDEX_OBJECT: DATABASE }, FLAGS);
  const message = expect.stringMatching(/INDEX_DB.*remove one of the two bindings/);
  expect(result).toEqual({ ok: false, error: [{ path: "INDEX_OBJECT", message }] });
});

it.each<[what: string, bindings: object, config: object]>([
  ["no index database", {}, { isIndexed: false, indexDatabases: [], indexRetentionMs: 7 * DAY }],
  [
    "one index database and RETENTION_DAYS=3, which also deletes index rows after 3 days instead of 7,",
    { INDEX_DB: DATABASE, RETENTION_DAYS: 3 },
    { isIndexed: true, indexDatabases: ["INDEX_DB"], indexRetentionMs: 3 * DAY },
  ],
  [
    "the object for the index",
    { INDEX_OBJECT: DATABASE },
    { isIndexed: true, isIndexInObject: true, indexDatabases: [] },
  ],
  [
    "three databases for the index",
    { ...THREE, INDEX_SHARD_HOURS: 87 },
    { indexDatabases: Object.keys(THREE), indexShardMs: 87 * HOUR },
  ],
])(
  "a configuration with %s is accepted, and the relay keeps its index in exactly the databases that are bound for it",
  (_, bindings, config) => {
    const result = parseConfig({ ...REQUIRED, ...bindings }, FLAGS);
    expect(result).toMatchObject({ ok: true, value: config });
  },
);

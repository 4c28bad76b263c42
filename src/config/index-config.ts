import { DEADLINE_EXTENSION } from "../core/policy.ts";
import { failure, type Result, success } from "../core/result.ts";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../core/time.ts";
import type { ConfigIssue } from "./issue.ts";
import { DEFAULT_INDEX_RETENTION_DAYS, type ParsedVariables } from "./variables.ts";

/** The part of the configuration that is about the index. Durations are in milliseconds. */
export interface IndexConfig {
  /** True when the relay has an index, because the database `INDEX_DB` or the object `INDEX_OBJECT` is bound. */
  readonly isIndexed: boolean;
  /** True when a Durable Object stores the index, because `INDEX_OBJECT` is bound. */
  readonly isIndexInObject: boolean;
  /**
   * Time in milliseconds from the last change of a settled task to the deletion of its row from the index, at most
   * `retentionMs`. A task is settled when it has ended and neither an attempt of its callback nor a refund or release
   * of credits has still to be made.
   */
  readonly indexRetentionMs: number;
  /** Time in milliseconds from the creation of a task to the first write of its row, while the task is open. */
  readonly firstRowDelayMs: number;
  /**
   * Names of the bound D1 databases that together store the index (its shards), in order: `INDEX_DB`, `INDEX_DB_1` …
   * None when an object stores it. `shardsOf` (objects/index/index-shards.ts) returns the databases.
   */
  readonly indexDatabases: readonly string[];
  /**
   * Time in milliseconds for which the rows of all new tasks go to one database of the index (a shard), before they go
   * to the next. Null when `INDEX_SHARD_HOURS` is not set.
   */
  readonly indexShardMs: number | null;
}

const SHARD = /^INDEX_DB_(.*)$/;

const TWO_INDEXES: ConfigIssue = {
  path: "INDEX_OBJECT",
  message:
    "must not be bound together with INDEX_DB, because the index has one place: remove one of the two bindings",
};

/**
 * Returns the configuration of the index from its variables and bindings, or the faults if these contradict each other.
 */
export function parseIndexConfig(
  vars: object,
  data: ParsedVariables,
): Result<IndexConfig, readonly ConfigIssue[]> {
  const indexRetentionMs =
    (data.INDEX_RETENTION_DAYS ?? Math.min(DEFAULT_INDEX_RETENTION_DAYS, data.RETENTION_DAYS)) *
    DAY_MS;
  const isInDatabase = data.INDEX_DB !== undefined;
  const isIndexInObject = data.INDEX_OBJECT !== undefined;
  const shards = Object.keys(vars).filter(
    (name) => SHARD.test(name) && Reflect.get(vars, name) !== undefined,
  );
  const expected = shards.map((_, i) => `INDEX_DB_${i + 1}`);
  const indexDatabases = isInDatabase ? ["INDEX_DB", ...expected] : [];
  const shardHours = data.INDEX_SHARD_HOURS;
  const indexShardMs = shardHours === null ? null : shardHours * HOUR_MS;
  if (isInDatabase && isIndexInObject) return failure([TWO_INDEXES]);
  const misnumbered = numberingIssues(shards, expected, isInDatabase);
  if (misnumbered.length > 0) return failure(misnumbered);
  const issues = [
    ...retentionIssues(indexRetentionMs, data),
    ...overlapIssues(indexDatabases.length, indexRetentionMs, data),
  ];
  if (issues.length > 0) return failure(issues);
  const firstRowDelayMs = data.INDEX_DELAY_S * SECOND_MS;
  return success({
    isIndexed: isInDatabase || isIndexInObject,
    isIndexInObject,
    indexRetentionMs,
    firstRowDelayMs,
    indexDatabases,
    indexShardMs,
  });
}

function retentionIssues(retentionMs: number, { RETENTION_DAYS }: ParsedVariables): ConfigIssue[] {
  if (retentionMs <= RETENTION_DAYS * DAY_MS) return [];
  return [{ path: "INDEX_RETENTION_DAYS", message: "must be at most RETENTION_DAYS" }];
}

function numberingIssues(
  shards: readonly string[],
  expected: readonly string[],
  isInDatabase: boolean,
): ConfigIssue[] {
  if (shards.length > 0 && !isInDatabase) {
    return [{ path: "INDEX_DB", message: "must be bound, because INDEX_DB_1 is" }];
  }
  const missing = expected.find((name) => !shards.includes(name));
  const message = "must be bound: shards are numbered from 1 without gaps";
  return missing === undefined ? [] : [{ path: missing, message }];
}

/**
 * Checks that the index has enough databases (shards). They store the rows of new tasks in turn. When it is the turn of
 * a database again, most of its rows from the last time must have expired. Two kinds of older rows may still be there,
 * and lists of tasks include them: rows of failed callbacks, which stay for `RETENTION_DAYS`, and rows of tasks whose
 * own deadline is later than `TASK_DEADLINE_HOURS`.
 * @returns a list with the fault; empty when the index has enough databases.
 */
function overlapIssues(
  count: number,
  retentionMs: number,
  { INDEX_SHARD_HOURS: shardHours, TASK_DEADLINE_HOURS: deadlineHours }: ParsedVariables,
): ConfigIssue[] {
  const path = "INDEX_SHARD_HOURS";
  if (shardHours === null) {
    return count > 1 ? [{ path, message: "is required, because INDEX_DB_1 is bound" }] : [];
  }
  if (count === 0) return [];
  const openHours = deadlineHours * (1 + DEADLINE_EXTENSION);
  const least = Math.floor(retentionMs / HOUR_MS + openHours) + 1;
  if (count * shardHours >= least) return [];
  const message = `times the number of databases (${count}) must be at least ${least}, so that they do not overlap`;
  return [{ path, message }];
}

import type { Env } from "../../env.ts";
import { errorText, log } from "../../log.ts";
import { Problem } from "../http/problem.ts";
import { unavailable } from "../http/object-call.ts";

/** Returns the index database. @throws Problem `index_disabled` when none is bound. */
export function requireIndex({ INDEX_DB: db }: Env): D1Database {
  if (db !== undefined) return db;
  const detail =
    "No D1 database is bound as INDEX_DB. Only lists, statistics and bulk operations need it.";
  throw new Problem("index_disabled", { detail });
}

/** Queries the index database. @throws Problem `unavailable` when the query fails. */
export async function queryIndex<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    log({ event: "index.unreachable", error: errorText(error) }, "warn");
    throw unavailable("The index could not be reached.");
  }
}

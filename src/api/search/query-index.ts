import type { Env } from "../../env.ts";
import { errorText, log } from "../../log.ts";
import { Problem } from "../http/problem.ts";
import { unavailable } from "../http/object-call.ts";

/** @throws Problem `index_disabled`: no D1 database is bound. */
export function requireIndex({ INDEX_DB: db }: Env): D1Database {
  if (db !== undefined) return db;
  const detail = "No D1 database is bound as INDEX_DB; everything but lists and statistics works.";
  throw new Problem("index_disabled", { detail });
}

/** What the index answers. @throws Problem `unavailable` when it fails: it decides nothing. */
export async function queryIndex<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    log({ event: "index.unreachable", error: errorText(error) });
    throw unavailable("The index cannot be reached now.");
  }
}

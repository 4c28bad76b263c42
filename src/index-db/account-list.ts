import { onSchema } from "./database.ts";
import type { IndexDatabase } from "./index-database.ts";

export interface ListedAccount {
  readonly id: string;
  /** Time at which the account was created, in Unix milliseconds. */
  readonly createdAt: number;
}

/**
 * Adds an account to the list of accounts, which is stored in the first database of the index. Repeating the call
 * changes nothing.
 */
export async function noteAccount(db: IndexDatabase, account: ListedAccount): Promise<void> {
  await onSchema(db, (database) =>
    database
      .prepare("INSERT OR IGNORE INTO listed_accounts (id, created_at) VALUES (?, ?)")
      .bind(account.id, account.createdAt)
      .run(),
  );
}

/** Removes a deleted account from the list of accounts, which is stored in the first database of the index. */
export async function forgetListedAccount(db: IndexDatabase, id: string): Promise<void> {
  await onSchema(db, (database) =>
    database.prepare("DELETE FROM listed_accounts WHERE id = ?").bind(id).run(),
  );
}

/** Lists accounts by ascending id, at most `limit`, starting after the id `after`. */
export async function listAccountIds(
  db: IndexDatabase,
  after: string,
  limit: number,
): Promise<readonly ListedAccount[]> {
  const { results } = await onSchema(db, (database) =>
    database
      .prepare(
        "SELECT id, created_at AS createdAt FROM listed_accounts WHERE id > ? ORDER BY id LIMIT ?",
      )
      .bind(after, limit)
      .all<ListedAccount>(),
  );
  return results;
}

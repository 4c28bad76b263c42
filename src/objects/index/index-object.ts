import { DurableObject } from "cloudflare:workers";
import type { WithStartup } from "../../config/runtime.ts";
import { failure, success } from "../../core/result.ts";
import { MINUTE_MS } from "../../core/time.ts";
import type { IndexResult } from "../../index-db/index-database.ts";
import { errorText, log } from "../../lib/log.ts";
import type { Answer, Query } from "./object-database.ts";

/**
 * Length of the rest after a run of the steps, as a multiple of the run's own length, if that is more than what is left
 * of the minute. So the steps, whose queries keep others waiting, use at most a tenth of the object's time.
 */
const REST = 9;

/**
 * Durable Object with the index, where no D1 database is bound (binding `INDEX_OBJECT`): there is one, `index`. One is
 * enough: it takes more rows per second than the tasks of one machine write, and only the disk limits its size.
 *
 * It stores the tables of `index-db/schema.ts`, and runs the SQL of `index-db` for whoever reads or writes the index:
 * task objects write their rows, operations read. Its alarm does the work of the cron trigger, each minute, which
 * plain workerd lacks.
 */
export class IndexObject extends DurableObject<WithStartup> {
  readonly #runSteps: () => Promise<void>;

  /** Creates the object. @param runSteps does the work of the cron trigger; it may call this object. */
  constructor(ctx: DurableObjectState, env: WithStartup, runSteps: () => Promise<void>) {
    super(ctx, env);
    this.#runSteps = runSteps;
  }

  /**
   * Runs statements in a transaction: when one fails, all are undone, and the error is returned, because workerd would
   * log one that is thrown, such as that of a fresh database without tables. Any call also sets the alarm if there is
   * none, so that a fresh deployment gets its clock, and one whose alarm was lost gets another.
   */
  async query(queries: readonly Query[]): Promise<Answer> {
    const { storage } = this.ctx;
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + MINUTE_MS);
    try {
      const results = storage.transactionSync(() => queries.map((query) => this.#resultOf(query)));
      return success(JSON.stringify(results));
    } catch (error) {
      return failure(error instanceof Error ? error.message : "unknown");
    }
  }

  /**
   * Does the work of the cron trigger. The next alarm is set before, and no failure leaves this method, so that
   * neither a crash nor a fault ends the series of runs: the platform gives up an alarm that fails several times.
   */
  override async alarm(): Promise<void> {
    const { storage } = this.ctx;
    const startedAt = Date.now();
    await storage.setAlarm(startedAt + MINUTE_MS);
    try {
      await this.#runSteps();
    } catch (error) {
      log({ event: "index.unreachable", part: "clock", error: errorText(error) }, "warn");
    }
    const endedAt = Date.now();
    const restedAt = endedAt + REST * (endedAt - startedAt);
    if (restedAt > startedAt + MINUTE_MS) await storage.setAlarm(restedAt);
  }

  #resultOf({ sql, values }: Query): IndexResult {
    const database = this.ctx.storage.sql;
    const before = this.#changes();
    const cursor = database.exec(sql, ...values);
    const results = cursor.toArray();
    const meta = {
      changes: this.#changes() - before,
      size_after: database.databaseSize,
      rows_read: cursor.rowsRead,
      rows_written: cursor.rowsWritten,
    };
    return { results, meta };
  }

  /** Returns how many rows this instance has inserted, updated and deleted, also by triggers. */
  #changes(): number {
    return this.ctx.storage.sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n;
  }
}

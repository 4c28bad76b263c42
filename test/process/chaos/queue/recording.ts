import { join } from "node:path";
import * as z from "zod";
import type { Post } from "../../harness/receiver.ts";
import type { StoredCall } from "../../harness/stored-calls.ts";
import { objectFiles, readCopy } from "../../harness/stored-record.ts";
import type { Submit } from "../../submit/fake-ark.ts";
import type { Ledger } from "../ledger.ts";
import type { SubmittedTask } from "../submissions/recording.ts";
import type { FinalAnswer } from "../submissions/submitting.ts";
import type { Witnessed } from "../witnessed.ts";
import type { ConnectionName, Order } from "./orders.ts";

/** A submission that the upstream has received. */
export interface QueuedSubmit extends Submit {
  /** Connection whose key was sent. */
  readonly connection: ConnectionName;
}

/** Everything recorded about an order: by its client, the upstream, the relay and the receiver. */
export interface Evidence {
  readonly order: Order;
  /** Id of its task. The last answer does not name it when no place was free. */
  readonly taskId: string;
  /** Null when the client never got a final answer. */
  readonly answer: FinalAnswer | null;
  /** Status of the last answer to the order to cancel. Null when there was no such order, or no answer. */
  readonly cancelStatus: number | null;
  /** Submissions that the upstream has received, in their order. */
  readonly submits: readonly QueuedSubmit[];
  /** The task; null when there is none. */
  readonly task: SubmittedTask | null;
  readonly posts: readonly Post[];
}

/** A row that is left in the queue of a connection. */
export type LeftRow = z.infer<typeof LeftRow>;
const LeftRow = z.object({ task_id: z.string(), state: z.string() });

/** Everything that a run has recorded, from which its faults are found. */
export interface Recording extends Witnessed {
  readonly evidence: readonly Evidence[];
  readonly ledgers: readonly Ledger[];
  /** Credits that each account was granted, and that each submission costs. */
  readonly grant: number;
  readonly price: number;
  /** Largest number of jobs that were in flight at the same time with the key of each connection. */
  readonly mostInFlight: ReadonlyMap<ConnectionName, number>;
  /** Rows that are left in the queues in the end: submissions that have a place, or wait for one. */
  readonly leftRows: readonly LeftRow[];
  /** What objects of calls store in the end. */
  readonly storedCalls: readonly StoredCall[];
  /** Hooks that the relay has not accepted. */
  readonly refusedHooks: readonly string[];
}

/** Reads the rows of all queues from their files, because a request could make a queue notice what it has lost. */
export function leftRows(storage: string): readonly LeftRow[] {
  return objectFiles(join(storage, "queues")).flatMap((file) => {
    const read = "SELECT task_id, state FROM places";
    const rows = readCopy(file, (database) => database.prepare(read).all());
    return (rows ?? []).map((row) => LeftRow.parse(row));
  });
}

import * as z from "zod";
import type { Entry } from "./accounts.ts";
import type { Story } from "./task-history.ts";
import { Task } from "../harness/client.ts";
import type { Post } from "../harness/receiver.ts";

/** A task as its operator, the relay, the ledger and the receiver remember it. */
export interface Remembered {
  readonly story: Story;
  /** What `GET /v1/tasks/{id}` answers; null: the relay knows nothing of it. */
  readonly text: string | null;
  readonly task: Read | null;
  readonly posts: readonly Post[];
  readonly entries: readonly Entry[];
}

export type Read = z.infer<typeof Read>;
const Read = Task.extend({
  credits: z.object({ amount: z.int(), state: z.string() }).optional(),
  output: z.object({ urls: z.array(z.string()) }).optional(),
  error: z.object({ code: z.string() }).optional(),
});

export function readOf(text: string): Read {
  return Read.parse(JSON.parse(text));
}

/** A fault, and whether it is one of this task. */
export type Finding = readonly [fault: string, isThere: boolean];

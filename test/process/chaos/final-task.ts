import type * as z from "zod";
import type { Client } from "../harness/client.ts";

/** A task as it is read at the end of a round. */
export interface FinalTask<Read> {
  /** Body of `GET /v1/tasks/{id}`; null when there is no such task. */
  readonly text: string | null;
  readonly task: Read | null;
}

/**
 * Reads a task at the end of a round.
 * @param faults list to which an answer other than the task or 404 is added.
 */
export async function readFinalTask<Read>(
  client: Client,
  id: string,
  schema: z.ZodType<Read>,
  faults: string[],
): Promise<FinalTask<Read>> {
  const { status, text, json } = await client.ask("GET", `/v1/tasks/${id}`);
  if (status === 200) return { text, task: schema.parse(json) };
  if (status !== 404) faults.push(`read at the end: ${status} ${text}`);
  return { text: null, task: null };
}

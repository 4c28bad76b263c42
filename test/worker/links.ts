import * as z from "zod";
import { post } from "./client.ts";
import { CALLBACK_URL } from "./tasks.ts";

const Linked = z.looseObject({ id: z.string(), status_url: z.string() });

/** A task with its status link: the path and query of the link, and the token in it. */
export interface LinkedTask {
  readonly id: string;
  readonly link: string;
  readonly token: string;
}

/** Registers a task with a callback URL, and returns it with its status link. */
export async function aLinkedTask(fields: object = {}): Promise<LinkedTask> {
  const body = { id: crypto.randomUUID(), model: "m", callback_url: CALLBACK_URL, ...fields };
  return linkedOf(await post("/v1/tasks", body));
}

/** Reads the status link from the answer to a registration. */
export async function linkedOf(response: Response): Promise<LinkedTask> {
  const { id, status_url } = Linked.parse(await response.json());
  const { pathname, search, searchParams } = new URL(status_url);
  return { id, link: pathname + search, token: searchParams.get("token") ?? "" };
}

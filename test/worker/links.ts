import { expect } from "vitest";
import * as z from "zod";
import { call, post } from "./client.ts";
import { DAY_MS, pass } from "./clock.ts";
import { aFailure, CALLBACK_URL, report } from "./tasks.ts";

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

/** Sends a request without a key. */
export function open(
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return call(path, { key: null, headers });
}

/** The two ways in which a request shows the token of a task. */
export const WAYS = [
  ["in the query parameter token", ({ link }: LinkedTask) => open(link)],
  [
    "in the header Authorization",
    ({ id, token }: LinkedTask) => call(`/v1/tasks/${id}`, { key: token }),
  ],
] as const;

/**
 * Reads a task and its events with its status token, with altered ones, with two credentials and after its expiry.
 * @returns the token, and its MAC alone.
 */
export async function useStatusLink(): Promise<readonly string[]> {
  const { id, link, token } = await aLinkedTask({ callback_url: null });
  await report(aFailure(id));
  const events = `/v1/tasks/${id}/events`;
  const answers = [await open(link), await open(`${link}x`), await call(link, { key: token })];
  for (const key of [token, `${token}x`]) answers.push(await call(events, { key }));
  pass(5 * DAY_MS);
  answers.push(await open(link));
  pass(-5 * DAY_MS);
  expect(answers.map((answer) => answer.status)).toEqual([200, 401, 400, 200, 401, 401]);
  return [token, token.slice(-43)];
}

import { randomUUID } from "node:crypto";
import * as z from "zod";
import { type Client, completedEvent } from "../harness/client.ts";

const EACH = 3;
const Problem = z.object({ code: z.string() });

/** The parts of an answer that tell whether the request took effect; null when there was no answer. */
export type Answer = {
  readonly status: number;
  readonly code: string | null;
  readonly retryAfter: string | null;
} | null;

/** A request that changes one task. */
export interface Request {
  readonly what: string;
  readonly taskId: string;
  /** States that the task exists before the request. */
  readonly isKnown: boolean;
  readonly send: () => Promise<Answer>;
}

/** Prepares `EACH` requests of every kind that changes a task, each about a task of its own. */
export async function requestsTo(
  client: Client,
  callbackUrl: (id: string) => string,
): Promise<readonly Request[]> {
  const requests: Request[] = [];
  const add = (what: string, taskId: string, path: string, body?: object) => {
    const isKnown = what !== "event of a new task" && what !== "registration";
    const send = () => answerTo(client.send("POST", path, body));
    requests.push({ what, taskId, isKnown, send });
  };
  const registration = (id: string) => {
    return { id, model: "m", callback_url: callbackUrl(id), provider: "ark" };
  };
  const registered = () => client.register(registration(randomUUID()));
  const content = { video_url: "https://a.example/v" };
  for (let i = 0; i < EACH; i++) {
    const [id, other] = [randomUUID(), randomUUID()];
    add("event of a new task", id, "/v1/events", completedEvent(id, callbackUrl(id)));
    add("registration", other, "/v1/tasks", registration(other));
    const reported = await registered();
    const event = completedEvent(reported.id, callbackUrl(reported.id));
    add("event of a registered task", reported.id, "/v1/events", event);
    const hooked = await registered();
    add("hook", hooked.id, new URL(hooked.hook_url).pathname, {
      id: "cgt-1",
      status: "succeeded",
      content,
    });
    const attached = await registered();
    const job = { provider: "ark", id: "cgt-2" };
    add("attachment", attached.id, `/v1/tasks/${attached.id}/upstream`, job);
    const canceled = await registered();
    add("cancellation", canceled.id, `/v1/tasks/${canceled.id}/cancel`);
  }
  return requests;
}

async function answerTo(sent: Promise<Response>): Promise<Answer> {
  try {
    const response = await sent;
    const text = await response.text();
    const { status, headers, ok } = response;
    const code = ok ? null : Problem.parse(JSON.parse(text)).code;
    return { status, code, retryAfter: headers.get("Retry-After") };
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

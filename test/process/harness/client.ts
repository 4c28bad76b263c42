import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import * as z from "zod";
import { requireDescribed } from "../../description/document.ts";
import { refuseLeaksInAnswer } from "./leaks.ts";
import type { Post } from "./receiver.ts";

/** Secrets that only these tests use. */
export const OPERATOR_KEY = "process-test-operator-key";
export const SECRETS = {
  RELAY_SECRET: "process-test-relay-secret-0123456789abcdef",
  OPERATOR_KEYS: OPERATOR_KEY,
};
/** Variables of a relay that may call the servers of these tests. */
export const LOCAL_VARS = { ...SECRETS, ALLOW_LOCAL_CALLBACKS: "true" };

const Attempt = z.object({
  number: z.int(),
  series: z.int(),
  url: z.string().optional(),
  started_at: z.int(),
  duration_ms: z.int().optional(),
  outcome: z.string().optional(),
  cause: z.string().optional(),
  status_code: z.int().optional(),
  response_excerpt: z.string().optional(),
});

/** The members of a task that these tests read. */
export type Task = z.infer<typeof Task>;
export const Task = z.object({
  id: z.string(),
  status: z.string(),
  callback: z
    .object({
      url: z.string(),
      status: z.string(),
      attempts: z.array(Attempt),
      next_attempt_at: z.int().optional(),
      delivered_at: z.int().optional(),
    })
    .nullable(),
});

const SigningSecrets = z.object({ callbacks: z.array(z.string()).min(1) });

const Registered = z.object({ id: z.string(), hook_url: z.string() });
const Page = z.object({ data: z.array(z.unknown()), next_cursor: z.string().nullable() });

interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** An HTTP client with the operator's key. */
export class Client {
  readonly #url: string;

  constructor(relay: { readonly url: string }) {
    this.#url = relay.url;
  }

  send(method: string, path: string, body?: object, init: SendOptions = {}): Promise<Response> {
    const own = { Authorization: `Bearer ${OPERATOR_KEY}`, "Content-Type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { ...own, ...init.headers };
    return fetch(`${this.#url}${path}`, { ...init, method, headers, ...sent });
  }

  /**
   * Sends a request and reads the whole answer. @throws when the answer contains a secret, or is not as
   * openapi.json describes it.
   */
  async ask(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; text: string; json: unknown }> {
    const response = await this.send(method, path, body);
    const text = await response.text();
    refuseLeaksInAnswer(`${method} ${path}`, response.headers, text);
    const { status, headers } = response;
    requireDescribed({ method, path: path.split("?")[0] ?? "", status, headers, text });
    return { status, text, json: text === "" ? null : JSON.parse(text) };
  }

  /** Reads all pages of a list. */
  async list<T>(path: string, row: z.ZodType<T>): Promise<T[]> {
    const rows: T[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const query = `limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const { json } = await this.ask("GET", `${path}?${query}`);
      const page = Page.parse(json);
      rows.push(...page.data.map((each) => row.parse(each)));
      cursor = page.next_cursor;
    }
    return rows;
  }

  /** Registers a task. @returns its id and its hook URL. */
  async register(fields: object): Promise<z.infer<typeof Registered>> {
    const body = { id: randomUUID(), model: "m", ...fields };
    return Registered.parse((await this.ask("POST", "/v1/tasks", body)).json);
  }

  /** Reports a completed task with this callback URL. @returns the id of the task. */
  async finish(callbackUrl: string, id: string = randomUUID()): Promise<string> {
    const { status, text } = await this.ask("POST", "/v1/events", completedEvent(id, callbackUrl));
    if (status !== 202) throw new Error(`the event was answered with ${status} ${text}`);
    return id;
  }

  async read(id: string): Promise<Task> {
    const { json } = await this.ask("GET", `/v1/tasks/${id}`);
    return Task.parse(json);
  }

  /** Reads the task until its callback is settled. @throws when that takes longer than `withinMs`. */
  async settled(id: string, withinMs = 30_000): Promise<Task> {
    const giveUpAt = Date.now() + withinMs;
    for (;;) {
      const task = await this.read(id);
      if (isSettled(task)) return task;
      if (Date.now() > giveUpAt) throw new Error(`not settled: ${JSON.stringify(task)}`);
      await sleep(100);
    }
  }

  /**
   * Returns a function that verifies callbacks with the standardwebhooks package and the secret of the API.
   * @param owner path of the account whose callbacks they are; by default they have no account.
   */
  async verifier(owner = "/v1"): Promise<(post: Post) => unknown> {
    const { json } = await this.ask("GET", `${owner}/signing-secrets`);
    const [secret = ""] = SigningSecrets.parse(json).callbacks;
    const webhook = new Webhook(secret);
    return (post) => webhook.verify(post.body, post.headers);
  }
}

export function isSettled({ callback }: Task): boolean {
  return callback?.status === "delivered" || callback?.status === "failed";
}

export function completedEvent(id: string, callbackUrl: string) {
  return {
    id,
    status: "completed",
    model: "seedance-1-pro",
    callback_url: callbackUrl,
    output: { urls: [`https://cdn.example.com/${id}.mp4`], metadata: { seed: 7, duration: 5 } },
  };
}

import { RelayProblem } from "./problem.ts";
import type { TaskRelay } from "./relay.ts";
import type { SubmitOptions } from "./submit.ts";

export interface SdkFetchOptions extends SubmitOptions {
  /** Base URL of the connection as the relay knows it, e.g. `https://api.replicate.com`. */
  readonly baseUrl: string;
}

/** Headers in which SDKs of upstreams send their keys. */
const KEY_HEADERS = ["Authorization", "x-api-key", "x-goog-api-key", "x-key"];
/** Number of failed calls whose keys are kept for their repetition. */
const MAX_FAILED = 1000;

/**
 * Returns a `fetch` to hand to the SDK of an upstream, which submits the SDK's jobs through the relay: what the SDK posts
 * below `baseUrl` is submitted, with the relay's key in place of the SDK's or, with `key: "customer"`, beside it. All else
 * that it sends below `baseUrl` is answered with 404, because the relay itself asks for the state of jobs. Requests to other
 * servers go there unchanged.
 *
 * Each call gets an `Idempotency-Key`, unless the SDK has sent one. A call without an answer, or answered with 5xx,
 * leaves its key to the next equal call, which is the repetition by the SDK: it submits nothing a second time.
 */
export function fetchFor(
  relay: TaskRelay,
  connection: string,
  { baseUrl, ...options }: SdkFetchOptions,
): typeof fetch {
  const hasOwnKey = options.key === "customer";
  const base = `${baseUrl.replace(/(?<!\/)\/+$/, "")}/`;
  const failed = new FailedCalls();
  return async (input, init) => {
    const { href, search, pathname } = new URL(input instanceof Request ? input.url : input);
    if (!href.startsWith(base)) return fetch(input, init);
    const request = new Request(input, init);
    if (request.method !== "POST") return notSubmitted(request.method);
    const { signal } = request;
    const body = await request.arrayBuffer();
    const headers = hasOwnKey ? request.headers : withoutKeys(request.headers);
    const call = await digestOf(href, headers, body);
    const idempotencyKey = headers.get("Idempotency-Key") ?? failed.take(call);
    const path = pathname.slice(new URL(base).pathname.length);
    const query = search.slice(1);
    const given = { ...options, body, headers, query, signal, idempotencyKey };
    let hasFailed = true;
    try {
      const response = await relay.submit(connection, path, given).then(answerIn, answerOfProblem);
      hasFailed = response.status >= 500;
      return response;
    } finally {
      if (hasFailed) failed.add(call, idempotencyKey);
    }
  };
}

/** The keys of the latest calls that have failed, so that it is not known whether they have had an effect. */
class FailedCalls {
  /** The calls, by their keys. */
  readonly #calls = new Map<string, string>();

  add(call: string, key: string): void {
    this.#calls.set(key, call);
    const [oldest] = this.#calls.keys();
    if (oldest !== undefined && this.#calls.size > MAX_FAILED) this.#calls.delete(oldest);
  }

  /** Takes the key of a failed call like this one. Returns a new key when there is none. */
  take(call: string): string {
    const [key] = [...this.#calls].find(([, each]) => each === call) ?? [crypto.randomUUID()];
    this.#calls.delete(key);
    return key;
  }
}

/** Returns headers without those in which SDKs send keys. */
function withoutKeys(given: Headers): Headers {
  const headers = new Headers(given);
  for (const name of KEY_HEADERS) headers.delete(name);
  return headers;
}

/**
 * Returns the SHA-256 of a call and the SDK's key in it, if it is sent. The boundary of a multipart body is left out: it is
 * another each time.
 */
async function digestOf(url: string, headers: Headers, body: ArrayBuffer): Promise<string> {
  const [, boundary] = /boundary="?([^";]+)/.exec(headers.get("Content-Type") ?? "") ?? [];
  const text = new TextDecoder().decode(body);
  const keys = KEY_HEADERS.map((name) => headers.get(name)).join("\n");
  const call = `${url}\n${keys}\n${boundary === undefined ? text : text.replaceAll(boundary, "")}`;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(call));
  return new Uint8Array(digest).join();
}

function answerIn({ response }: { readonly response: Response }): Response {
  return response;
}

/** Returns the answer with which the relay has refused a call. SDKs may repeat only what a repetition can change. */
function answerOfProblem(error: unknown): Response {
  if (!(error instanceof RelayProblem)) throw error;
  const { status, body, retryAfterS } = error;
  const headers = new Headers({ "Content-Type": "application/problem+json" });
  if (retryAfterS !== null) headers.set("Retry-After", `${retryAfterS}`);
  if (status < 500 && status !== 429) headers.set("x-should-retry", "false");
  return new Response(JSON.stringify(body ?? { detail: error.message }), { status, headers });
}

function notSubmitted(method: string): Response {
  const detail = `The relay passes no ${method} on. It asks the upstream itself: read the task at /v1/tasks/{id}, whose id is in the header Relay-Task-Id of the submission's answer.`;
  return Response.json({ code: "not_found", detail }, { status: 404 });
}

import type { TaskRelay } from "./relay.ts";
import type { SubmitOptions } from "./submit.ts";

export interface SdkFetchOptions extends SubmitOptions {
  /** Base URL of the connection as the relay knows it, e.g. `https://api.replicate.com`. */
  readonly baseUrl: string;
}

/** Headers in which SDKs of upstreams send their keys. */
const KEY_HEADERS = ["Authorization", "x-api-key", "x-goog-api-key", "x-key"];
/** Methods of requests that must not have a body. */
const BODILESS = ["GET", "HEAD"];
/** Number of failed calls whose keys are kept for their repetition. */
const MAX_FAILED = 1000;

/**
 * Returns a `fetch` to hand to the SDK of an upstream, which works through the relay: what the SDK posts below `baseUrl` is
 * submitted, and its other calls there, which read or cancel its jobs, go to the relay too, with the relay's key in place
 * of the SDK's or, with `key: "customer"`, beside it. So do the links of answers that lead to the relay. Requests to other
 * servers go there unchanged.
 *
 * Each posted call gets an `Idempotency-Key`, unless the SDK has sent one. A call without an answer, or answered with 5xx,
 * leaves its key to the next equal call, which is the repetition by the SDK: it submits nothing a second time.
 */
export function fetchFor(
  relay: TaskRelay,
  connection: string,
  { baseUrl, ...options }: SdkFetchOptions,
): typeof fetch {
  const { key } = options;
  const bases = [baseUrl, `${withSlash(relay.url)}v1/submit/${connection}`].map(withSlash);
  const failed = new FailedCalls();
  return async (input, init) => {
    const { href, origin, pathname, search } = new URL(
      input instanceof Request ? input.url : input,
    );
    const base = bases.find((each) => href.startsWith(each));
    if (base === undefined) return fetch(input, init);
    const request = new Request(input, init);
    const { method, signal } = request;
    const path = (origin + pathname).slice(base.length);
    const headers = key === "customer" ? request.headers : withoutKeys(request.headers);
    const body = BODILESS.includes(method) ? null : await request.arrayBuffer();
    const call = { key, method, headers, query: search.slice(1), signal, body };
    if (body === null || method !== "POST") return relay.call(connection, path, call);
    const digest = await digestOf(href, headers, body);
    const idempotencyKey = headers.get("Idempotency-Key") ?? failed.take(digest);
    let hasFailed = true;
    try {
      const posted = await relay.call(connection, path, { ...options, ...call, idempotencyKey });
      hasFailed = posted.status >= 500;
      return answerTo(posted);
    } finally {
      if (hasFailed) failed.add(digest, idempotencyKey);
    }
  };
}

/** Returns a URL as requests have it, e.g. in lower case and without a default port, with one slash at its end. */
function withSlash(url: string): string {
  return `${new URL(url).href.replace(/(?<!\/)\/+$/, "")}/`;
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

/** Returns an answer for an SDK, which may repeat only what a repetition can change. */
function answerTo(response: Response): Response {
  const { status } = response;
  const isRelays = !response.ok && !response.headers.has("Relay-Task-Id");
  if (!isRelays || status >= 500 || status === 429) return response;
  const headers = new Headers(response.headers);
  headers.set("x-should-retry", "false");
  return new Response(response.body, { status, headers });
}

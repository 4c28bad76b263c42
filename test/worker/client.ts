import { exports } from "cloudflare:workers";
import * as z from "zod";
import { isolateOf } from "./isolates.ts";
import { answerFrom } from "./started.ts";
import { conforming } from "../description/conforms.ts";

export const ORIGIN = "https://relay.example.com";
export const OPERATOR_KEY = "test-only-operator-key";
/** Name of `OPERATOR_KEY` in the log: the key has no label, so its name is the beginning of its SHA-256. */
export const OPERATOR_NAME = "32848f64";
export const UNAUTHENTICATED = { status: 401, code: "unauthenticated" };
export const UNKNOWN_TASK = { status: 404, code: "unknown_task" };

export interface Message {
  readonly method?: string;
  /** Body of the request: a text, bytes or a stream is sent as it is, any other value as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** What Cloudflare says of a request that it brings to the Worker; absent elsewhere. */
  readonly cf?: IncomingRequestCfProperties | Readonly<Record<string, unknown>>;
  /** Bearer key: the operator's by default; null sends none. */
  readonly key?: string | null;
}

export function aRequest(path: string, message: Message = {}): Request {
  const { body, cf, key = OPERATOR_KEY } = message;
  const headers = new Headers(message.headers);
  if (key !== null) headers.set("Authorization", `Bearer ${key}`);
  const method = message.method ?? (body === undefined ? "GET" : "POST");
  const init = { method, headers, body: payload(body), ...(cf && { cf }) };
  return new Request(new URL(path, ORIGIN), init);
}

function payload(body: unknown): BodyInit | null {
  if (body === undefined) return null;
  if (typeof body === "string" || body instanceof ReadableStream || body instanceof Uint8Array) {
    return body;
  }
  return JSON.stringify(body);
}

/**
 * Sends a request to the `fetch` handler of the Worker. Fails when the answer is not as its description
 * states.
 */
export async function call(path: string, message: Message = {}): Promise<Response> {
  const request = aRequest(path, message);
  return conforming(request, await exports.default.fetch(request));
}

/** Sends a request to a relay with these bindings. Fails when the answer is not as its description states. */
export async function answerTo(request: Request, bindings: object): Promise<Response> {
  return conforming(request, await answerFrom(await isolateOf(bindings), request));
}

export async function callWith(bindings: object, path: string, message: Message = {}) {
  return answerTo(aRequest(path, message), bindings);
}

export function post(path: string, body: unknown, message: Message = {}): Promise<Response> {
  return call(path, { ...message, body });
}

export const ProblemBody = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
});

/** Returns the value that `refusal` has for a request with faults at these paths. */
export function invalid(...paths: readonly string[]) {
  return { status: 400, code: "invalid_request", paths };
}

/** Reduces a problem to its status, its code and the paths of its issues. */
export async function refusal(response: Response) {
  const Refusal = ProblemBody.extend({ issues: z.array(z.object({ path: z.string() })).nullish() });
  const { status, code, issues } = Refusal.parse(await response.json());
  if (response.status !== status)
    throw new Error(`body says ${status}, response ${response.status}`);
  return { status, code, ...(issues && { paths: issues.map(({ path }) => path) }) };
}

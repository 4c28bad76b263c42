import { type Issue, invalidRequest } from "../api/http/problem.ts";
import { plainTarget, UpstreamCall } from "../api/submit/upstream-call.ts";

/** Members of the argument that the operation reads from a header of this name. */
const RELAY_HEADERS = {
  callbackUrl: "Relay-Callback-Url",
  metadata: "Relay-Metadata",
  taskId: "Relay-Task-Id",
  account: "Relay-Account",
  credits: "Relay-Credits",
  price: "Relay-Price",
  deadlineAt: "Relay-Deadline-At",
};

/** The argument `init` of the method `submit`, which a Worker without types may have given any values. */
interface GivenInit extends Readonly<Partial<Record<keyof typeof RELAY_HEADERS, unknown>>> {
  readonly body?: unknown;
  readonly headers?: unknown;
  readonly query?: unknown;
  readonly key?: unknown;
}

/**
 * Returns the call to the upstream that the arguments of the method `submit` describe.
 * @throws Problem `invalid_request` when they describe none.
 */
export function upstreamCallOf(path: unknown, init: GivenInit): UpstreamCall {
  const { query: givenQuery = "", body, key = null } = init;
  if (key !== null && key !== "customer") {
    throw invalidRequest([{ path: "/key", message: 'must be "customer" or left out' }]);
  }
  const given = `/${String(path).replace(/^\//, "")}`;
  const target = plainTarget(given, String(givenQuery));
  const owner = key ?? "connection";
  return new UpstreamCall(target.path, target.query, headersOf(init), streamOf(body), owner);
}

/** Returns the headers of the call: those for the upstream, and those that tell the relay what it is to know. */
function headersOf(init: GivenInit): Headers {
  const { headers: own } = init;
  const named = own instanceof Headers ? [...own] : Object.entries({ ...objectIn(own) });
  const members = Object.entries(RELAY_HEADERS).flatMap(([member, name]) => {
    const value: unknown = Reflect.get(init, member);
    return value === undefined || value === null ? [] : [[member, name, value] as const];
  });
  const headers = new Headers();
  const issues: Issue[] = [];
  const set = (path: string, name: string, value: unknown) => {
    if (name.toLowerCase() === "relay-key") {
      issues.push({ path, message: "must be left out: a service binding needs no key" });
      return;
    }
    try {
      headers.set(name, headerText(value));
    } catch {
      issues.push({ path, message: "must be something that a header can contain" });
    }
  };
  for (const [name, value] of named) set(`/headers/${name}`, name, value);
  for (const [member, name, value] of members) set(`/${member}`, name, value);
  if (issues.length > 0) throw invalidRequest(issues);
  return headers;
}

function objectIn(value: unknown): object | null {
  return typeof value === "object" ? value : null;
}

/** Returns a value as the text of a header: an object as JSON in ASCII. @throws TypeError when JSON has no such value. */
function headerText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return typeof value === "object" ? text.replace(/[\x7f-\uffff]/g, escaped) : text;
}

/** Returns a character (UTF-16 code unit) as JSON can escape it. */
function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Returns a body as a stream. @throws Problem `invalid_request` when it is no body. */
function streamOf(body: unknown): ReadableStream<Uint8Array> | null {
  if (body === undefined || body === null) return null;
  if (body instanceof ReadableStream) return body;
  const isBytes = body instanceof Uint8Array || body instanceof ArrayBuffer;
  if (typeof body === "string" || isBytes) return new Response(body).body;
  throw invalidRequest([{ path: "/body", message: "must be a text, bytes or a stream" }]);
}

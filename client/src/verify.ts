import type { FinishedTask, RunningTask } from "./types.ts";
import { VerificationError } from "./verification-error.ts";
import { type Bytes, decodeBase64, readKeys, type VerificationKey } from "./verification-key.ts";

/** Largest accepted difference in seconds between the clocks of relay and receiver. */
const TOLERANCE_S = 300;

/** A request as servers without the Fetch API have it: the headers, and the body before it is parsed. */
export interface RawRequest {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string | Uint8Array | ArrayBuffer;
}

/** A verified callback with what its body tells: the end of a task, or what the receiver has asked for besides. */
export interface VerifiedCallback<Told = FinishedTask> {
  /** Id that all attempts of a callback share, by which a receiver recognises repeated ones. */
  readonly webhookId: string;
  /** Time at which this attempt was sent, in Unix seconds. */
  readonly sentAt: number;
  readonly task: Told;
}

export interface VerifyOptions {
  /** True where the receiver has asked for progress. Without it, a progress callback is refused as `not_a_task`. */
  readonly progress?: boolean;
}

/**
 * Verifies a callback of the relay (Standard Webhooks), and reads its body.
 * @param keys the secret (`whsec_…`), or a public key of the relay (`whpk_…`); several while one is rotated.
 * @throws VerificationError that says which check failed.
 * @throws TypeError when one of `keys` is not a key.
 */
export async function verify(
  request: Request | RawRequest,
  keys: string | readonly string[],
  options: VerifyOptions & { readonly progress: true },
): Promise<VerifiedCallback<FinishedTask | RunningTask>>;
export async function verify(
  request: Request | RawRequest,
  keys: string | readonly string[],
  options?: VerifyOptions & { readonly progress?: false },
): Promise<VerifiedCallback>;
export async function verify(
  request: Request | RawRequest,
  keys: string | readonly string[],
  { progress = false }: VerifyOptions = {},
): Promise<VerifiedCallback<FinishedTask | RunningTask>> {
  const known = await readKeys(keys);
  const webhookId = requireHeader(request.headers, "webhook-id");
  const timestamp = requireHeader(request.headers, "webhook-timestamp");
  const signatures = requireHeader(request.headers, "webhook-signature");
  const sentAt = requireRecent(timestamp);
  const body = await bodyOf(request);
  const content = joined(new TextEncoder().encode(`${webhookId}.${timestamp}.`), body);
  await requireSignature(signatures, content, known);
  return { webhookId, sentAt, task: taskIn(body, progress) };
}

function requireHeader(headers: RawRequest["headers"], name: string): string {
  const value = headerOf(headers, name);
  if (value !== "") return value;
  throw new VerificationError("missing_header", `The header ${name} is missing.`, { header: name });
}

function headerOf(headers: RawRequest["headers"], name: string): string {
  if (isHeaders(headers)) return headers.get(name) ?? "";
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return [value ?? ""].flat().join(", ");
}

/** Tells whether a value is a `Headers` object of any implementation of the Fetch API. */
function isHeaders(headers: RawRequest["headers"]): headers is Headers {
  return typeof headers.get === "function";
}

/** Checks the timestamp, and returns it as a number of Unix seconds. */
function requireRecent(timestamp: string): number {
  const header = "webhook-timestamp";
  if (!/^\d{1,12}$/.test(timestamp)) {
    const message = `The header ${header} is not a time in Unix seconds.`;
    throw new VerificationError("malformed_header", message, { header });
  }
  const ageS = Math.floor(Date.now() / 1000) - Number(timestamp);
  if (Math.abs(ageS) <= TOLERANCE_S) return Number(timestamp);
  const [failure, where] =
    ageS > 0 ? (["too_old", "old"] as const) : (["too_new", "ahead"] as const);
  const message = `The timestamp is ${Math.abs(ageS)} s ${where}; ${TOLERANCE_S} s are allowed.`;
  throw new VerificationError(failure, message, { ageS });
}

async function bodyOf(request: Request | RawRequest): Promise<Bytes> {
  if ("arrayBuffer" in request) {
    if (!request.bodyUsed && request.body?.locked !== true) {
      return new Uint8Array(await request.arrayBuffer());
    }
  } else {
    const { body } = request;
    if (typeof body === "string") return new Uint8Array(new TextEncoder().encode(body));
    // A framework may have replaced the bytes by the value that it has parsed.
    if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return new Uint8Array(body);
  }
  const message = "The body was read or parsed before verify, which needs its bytes.";
  throw new VerificationError("body_already_read", message);
}

async function requireSignature(
  signatures: string,
  content: Bytes,
  keys: readonly VerificationKey[],
): Promise<void> {
  const versions = new Set<string>();
  for (const signature of signatures.split(" ")) {
    const [version = "", encoded = ""] = signature.split(",");
    versions.add(version);
    const bytes = decodeBase64(encoded);
    if (bytes === null) continue;
    for (const key of keys) {
      if (key.version === version && (await key.fits(bytes, content))) return;
    }
  }
  const wanted = [...new Set(keys.map((key) => key.version))];
  const message = wanted.some((version) => versions.has(version))
    ? "No signature matches: the key is another one, or the body is not the one that was sent."
    : `The header webhook-signature has no ${wanted.join(" or ")} signature.`;
  throw new VerificationError("no_matching_signature", message);
}

function taskIn(body: Bytes, isProgressTaken: boolean): FinishedTask | RunningTask {
  const task = parse(new TextDecoder().decode(body));
  if (isFinishedTask(task) || (isProgressTaken && isRunningTask(task))) return task;
  throw new VerificationError("not_a_task", "The signed body is no finished task.");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new VerificationError("not_json", "The signed body is not JSON.");
  }
}

/**
 * Tells whether a value is a finished task. Only its kind is checked, because the signature has proved who
 * wrote the body.
 */
function isFinishedTask(body: unknown): body is FinishedTask {
  if (typeof body !== "object" || body === null || !("id" in body) || !("status" in body)) {
    return false;
  }
  return body.status === "completed"
    ? "output" in body
    : body.status === "failed" && "error" in body;
}

function isRunningTask(body: unknown): body is RunningTask {
  if (typeof body !== "object" || body === null || !("id" in body)) return false;
  return "status" in body && body.status === "processing" && "progress" in body;
}

function joined(start: Uint8Array, end: Bytes): Bytes {
  const bytes = new Uint8Array(start.length + end.length);
  bytes.set(start);
  bytes.set(end, start.length);
  return bytes;
}

import type * as z from "zod/mini";
import { type JsonValue, parseJsonAsSent } from "../../core/json.ts";
import { jsonPointer } from "../../core/pointer.ts";
import { SECOND_MS } from "../../core/time.ts";
import { readBodyUpTo, type StreamStart } from "../../lib/stream.ts";
import { isDeadlinePassed, withDeadline } from "../../lib/timeout.ts";
import { messageOf } from "./issue-message.ts";
import { type Issue, invalidRequest, Problem } from "./problem.ts";

const MAX_DEPTH = 64;
/** Longest time in milliseconds in which the whole body of a request must arrive. */
export const BODY_DEADLINE_MS = 30 * SECOND_MS;

const NOT_JSON = "The body must be JSON in UTF-8.";

/**
 * Decoder that refuses bytes that are not UTF-8 and drops a byte order mark. It is shared, because it keeps no state
 * between two texts.
 */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** Function that reads the body of a request when the body is needed, and returns its bytes. */
export type BodyReader = () => Promise<Uint8Array<ArrayBuffer>>;

/**
 * Returns a function that reads the body of a request at its first call; further calls return the same bytes. The
 * errors are those of `receiveBody`.
 */
export function bodyReader(request: Request, maxBytes: number): BodyReader {
  let read: ReturnType<BodyReader> | null = null;
  const detail = `A body may have at most ${maxBytes} bytes.`;
  return () =>
    (read ??= receiveBody(request.headers, { bytes: maxBytes, detail }, (signal) =>
      readBodyUpTo(request, maxBytes + 1, signal),
    ));
}

/**
 * The limit on the size of a request's body: a number of bytes, and the sentence with which a larger body is refused.
 */
export interface BodyLimit {
  readonly bytes: number;
  readonly detail: string;
}

/**
 * Reads a body that a client sends. Every route uses this function, so that no request waits for a client that has
 * stopped sending.
 * @param read function that reads the body. It reads at most one byte more than the limit, and ends when its signal
 * aborts.
 * @throws Problem `payload_too_large` when the body has, or is declared to have, more bytes than the limit;
 * `body_timeout` when it has not arrived in time; `invalid_json` when the connection ends before the end of the body.
 */
export async function receiveBody(
  headers: Headers,
  { bytes: maxBytes, detail }: BodyLimit,
  read: (signal: AbortSignal) => Promise<StreamStart>,
): ReturnType<BodyReader> {
  const tooLarge = () => new Problem("payload_too_large", { detail });
  if (Number(headers.get("Content-Length")) > maxBytes) throw tooLarge();
  const { bytes, isBroken } = await withDeadline(BODY_DEADLINE_MS, async (signal) => {
    const start = await read(signal);
    if (start.isBroken && isDeadlinePassed(signal)) {
      throw bodyTimeout(`The body has not arrived within ${BODY_DEADLINE_MS / SECOND_MS} seconds.`);
    }
    return start;
  });
  if (bytes.length > maxBytes) throw tooLarge();
  if (isBroken) throw invalidJson("The body ended before it was complete.");
  return bytes;
}

/**
 * Returns the problem for a body that does not arrive in time.
 * @param detail sentence that states within which time.
 */
export function bodyTimeout(detail: string): Problem {
  return new Problem("body_timeout", { detail: `${detail} Nothing was changed.` });
}

/**
 * Parses the JSON body of a request. Texts in it are not changed; those that are not well-formed Unicode are later
 * refused or repaired by schemas.
 * @throws Problem `invalid_request` when the JSON is nested deeper than 64 levels; `invalid_json` when the body is not
 * JSON in UTF-8.
 */
export function readJson(body: Uint8Array): JsonValue {
  const text = utf8(body);
  if (text === null) throw invalidJson(NOT_JSON, "must be UTF-8");
  const value = parseJsonAsSent(text);
  if (value === undefined) throw invalidJson(NOT_JSON, faultIn(text));
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw invalidRequest([{ path: "", message: `must not be nested deeper than ${MAX_DEPTH}` }]);
  }
  return value;
}

/**
 * Validates a value with a schema and returns the result.
 * @param noun what a message calls a member of the value, e.g. `parameter` in "Unknown parameter".
 * @throws Problem `invalid_request`, with an issue for every invalid field.
 */
export function validate<S extends z.ZodMiniType>(
  schema: S,
  value: unknown,
  noun: "field" | "parameter" = "field",
): z.output<S> {
  const parsed = schema.safeParse(value, { error: messageOf });
  if (parsed.success) return parsed.data;
  throw invalidRequest(parsed.error.issues.flatMap((issue) => issuesOf(issue, noun)));
}

function issuesOf(issue: z.core.$ZodIssue, noun: string): Issue[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: jsonPointer([...issue.path, key]),
      message: `Unknown ${noun}`,
    }));
  }
  return [{ path: jsonPointer(issue.path), message: issue.message }];
}

function utf8(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Returns the problem for a body that is not JSON.
 * @param detail sentence about the fault, for the caller.
 * @param message reason that completes a sentence beginning with "The body".
 */
export function invalidJson(detail: string, message = "must be JSON"): Problem {
  return new Problem("invalid_json", { detail, issues: [{ path: "", message }] });
}

/**
 * Returns why a text is not JSON, as words that complete a sentence beginning with "The body". It never quotes the
 * text, which may contain a secret.
 */
function faultIn(text: string): string {
  const at = faultAt(text);
  return at === undefined
    ? "must be JSON"
    : `must be JSON, which it is not from character ${at} on`;
}

/**
 * Returns the position of the first fault in a text that is not JSON, counted from 1; undefined when the JavaScript
 * engine does not state it.
 */
function faultAt(text: string): number | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const [, position] = / at position (\d+)/.exec(String(error)) ?? [];
    return position === undefined ? undefined : Number(position) + 1;
  }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}

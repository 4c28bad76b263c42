import type * as z from "zod/mini";
import { parseJson } from "../../core/json.ts";
import { readBodyUpTo } from "../../lib/stream.ts";
import { messageOf } from "./issue-message.ts";
import { type Issue, invalidRequest, Problem } from "./problem.ts";

const MAX_DEPTH = 64;

const NOT_JSON = "The body must be JSON in UTF-8.";

/**
 * Decoder that refuses bytes that are not UTF-8 and drops a byte order mark. It is shared, because it keeps no state
 * between two texts.
 */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/**
 * Reads the body of a request as bytes.
 * @throws Problem `payload_too_large` when the body is declared to have, or has, more than `maxBytes`; `invalid_json`
 * when the connection ends in the middle of the body.
 */
export async function readBody(
  request: Request,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get("Content-Length")) > maxBytes) throw tooLarge(maxBytes);
  const { bytes, isBroken } = await readBodyUpTo(request, maxBytes + 1);
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  if (isBroken) throw invalidJson("The body ended before it was complete.");
  return bytes;
}

/**
 * Parses the JSON body of a request.
 * @throws Problem `invalid_json` when the body is not JSON in UTF-8; `invalid_request` when it is nested
 * deeper than 64 levels.
 */
export function readJson(body: Uint8Array): unknown {
  const text = utf8(body);
  if (text === null) throw invalidJson(NOT_JSON, "must be UTF-8");
  const value = parseJson(text);
  if (value === undefined) throw invalidJson(NOT_JSON, faultIn(text));
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw invalidRequest([{ path: "", message: `must not be nested deeper than ${MAX_DEPTH}` }]);
  }
  return value;
}

/**
 * Validates a value with a schema and returns the result.
 * @param noun word for an unknown member of the value in a message, e.g. "Unknown parameter".
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

/** Formats the path of a field as a JSON Pointer (RFC 6901). */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
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

function tooLarge(maxBytes: number): Problem {
  return new Problem("payload_too_large", {
    detail: `A body may have at most ${maxBytes} bytes.`,
  });
}

/** Returns the problem for a body that is not JSON. @param message why not, in words that continue "The body". */
export function invalidJson(detail: string, message = "must be JSON"): Problem {
  return new Problem("invalid_json", { detail, issues: [{ path: "", message }] });
}

/**
 * Says why a text is not JSON, in words that continue "The body". It never quotes the text, which may contain a secret.
 */
function faultIn(text: string): string {
  const at = faultAt(text);
  return at === undefined
    ? "must be JSON"
    : `must be JSON, which it is not from character ${at} on`;
}

/**
 * Returns the place of the first fault in a text that is not JSON, counted from 1; undefined when V8 does not name it.
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

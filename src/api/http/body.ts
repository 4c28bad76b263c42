import type * as z from "zod";
import { readUpTo } from "../../stream.ts";
import { messageOf } from "./issue-message.ts";
import { type Issue, invalidRequest, Problem } from "./problem.ts";

const MAX_DEPTH = 64;

/**
 * Reads the raw body.
 * @throws Problem `payload_too_large` as soon as the limit is passed; `invalid_json` when the body breaks off.
 */
export async function readBody(
  request: Request,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const declaredBytes = Number(request.headers.get("Content-Length") ?? 0);
  if (declaredBytes > maxBytes) throw tooLarge(maxBytes);
  const { bytes, isBroken } = await readUpTo(request.body, maxBytes + 1);
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  if (isBroken) throw invalidJson("The body broke off.");
  return bytes;
}

/** @throws Problem `invalid_json`, also for text that is not UTF-8; `invalid_request` for nesting beyond reason. */
export function parseJson(body: Uint8Array): unknown {
  let value: unknown;
  try {
    const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
    value = JSON.parse(utf8.decode(body));
  } catch {
    throw invalidJson("The body must be JSON in UTF-8.");
  }
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw invalidRequest([{ path: "", message: `must not be nested deeper than ${MAX_DEPTH}` }]);
  }
  return value;
}

/** @throws Problem `invalid_request` that names every field at fault. */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value, { error: messageOf });
  if (parsed.success) return parsed.data;
  throw invalidRequest(parsed.error.issues.flatMap(issuesOf));
}

/** The parameters of a query. @throws Problem `invalid_request` for one that is given twice. */
export function queryOf(query: URLSearchParams): Readonly<Record<string, string>> {
  const twice = [...new Set(query.keys())].filter((name) => query.getAll(name).length > 1);
  if (twice.length === 0) return Object.fromEntries(query);
  throw invalidRequest(
    twice.map((name) => ({ path: jsonPointer([name]), message: "must be given once" })),
  );
}

function issuesOf(issue: z.core.$ZodIssue): Issue[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: jsonPointer([...issue.path, key]),
      message: "Unknown field",
    }));
  }
  return [{ path: jsonPointer(issue.path), message: issue.message }];
}

export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function tooLarge(maxBytes: number): Problem {
  return new Problem("payload_too_large", {
    detail: `A body may have at most ${maxBytes} bytes.`,
  });
}

function invalidJson(detail: string): Problem {
  return new Problem("invalid_json", { detail, issues: [{ path: "", message: "must be JSON" }] });
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}

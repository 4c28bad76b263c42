import * as z from "zod/mini";
import { parseJson } from "../../core/json.ts";
import { readerOf, type Caller } from "../../objects/task/caller.ts";
import { AccountId, TaskId, TimeS } from "../http/fields.ts";
import { type Issue, invalidRequest, Problem } from "../http/problem.ts";
import { Labels } from "../tasks/task-schemas.ts";

/** Values of the headers `Relay-…` of a submission; null for each that is absent. */
export interface RelayHeaders {
  readonly callbackUrl: string | null;
  readonly metadata: z.output<typeof Labels> | null;
  readonly taskId: string | null;
  /** Time in Unix seconds. */
  readonly deadlineAtS: number | null;
  readonly accountId: string | null;
  readonly credits: number | null;
}

const PREFIX = "relay-";
const WHOLE = /^\d{1,16}$/;
const Credits = z.int().check(z.minimum(1));

/** Headers that only operators may send, because they decide about the account, the price and the life of a task. */
const FOR_OPERATORS = ["Relay-Task-Id", "Relay-Deadline-At", "Relay-Account", "Relay-Credits"];
const FOR_ALL = ["Relay-Callback-Url", "Relay-Metadata", "Relay-Key"];

/**
 * Reads the headers of a submission with which its caller tells the relay what it wants to know.
 * @throws Problem `invalid_request` when one is unknown or not valid; `forbidden` when an account sends one that only
 * operators may send.
 */
export function readRelayHeaders(headers: Headers, caller: Caller): RelayHeaders {
  const isOperator = readerOf(caller) === "operator";
  const issues = unknownHeaders(headers, isOperator);
  const denied = FOR_OPERATORS.find((name) => headers.has(name));
  if (!isOperator && denied !== undefined) {
    throw new Problem("forbidden", { detail: `Only operators may send the header ${denied}.` });
  }
  const read = <T>(name: string, schema: z.ZodMiniType<T>, parse: (text: string) => unknown) => {
    const text = headers.get(name);
    if (text === null) return null;
    const value = parse(text);
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const message = value === undefined ? "must be JSON" : (issue?.message ?? "is not valid");
    issues.push({ path: `/${name}`, message });
    return null;
  };
  const found: RelayHeaders = {
    callbackUrl: headers.get("Relay-Callback-Url"),
    metadata: read("Relay-Metadata", Labels, parseJson),
    taskId: read("Relay-Task-Id", TaskId, (text) => text),
    deadlineAtS: read("Relay-Deadline-At", TimeS, wholeNumber),
    accountId: read("Relay-Account", AccountId, (text) => text),
    credits: read("Relay-Credits", Credits, wholeNumber),
  };
  if (found.credits !== null && found.accountId === null) {
    issues.push({ path: "/Relay-Account", message: "is required with Relay-Credits" });
  }
  if (issues.length > 0) throw invalidRequest(issues);
  return found;
}

/** Returns a fault for each unknown `Relay-…` header. It names the headers that the caller may send. */
function unknownHeaders(headers: Headers, isOperator: boolean): Issue[] {
  const known = new Set([...FOR_ALL, ...FOR_OPERATORS].map((name) => name.toLowerCase()));
  const unknown = [...headers.keys()].filter((name) => name.startsWith(PREFIX) && !known.has(name));
  const permitted = isOperator ? [...FOR_ALL, ...FOR_OPERATORS] : FOR_ALL;
  const message = `Unknown header; known are ${permitted.join(", ")}`;
  return unknown.map((name) => ({ path: `/${name}`, message }));
}

/** Returns the number that a text of decimal digits spells; the text itself, which no schema takes, for any other. */
function wholeNumber(text: string): unknown {
  return WHOLE.test(text) ? Number(text) : text;
}

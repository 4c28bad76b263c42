import * as z from "zod/mini";
import { PriceForm, priceOf } from "../../config/price.ts";
import { parseJsonAsSent } from "../../core/json.ts";
import type { CallbackEvents } from "../../core/record/callback-events.ts";
import type { Price } from "../../core/record/price-rule.ts";
import { readerOf, type Caller } from "../../objects/task/caller.ts";
import { CallbackEventList, eventsIn } from "../callbacks/callback-event-list.ts";
import { CallbackSchedule, scheduleIn } from "../callbacks/callback-schedule.ts";
import { jsonPointer } from "../../core/pointer.ts";
import { AccountId, TaskId, TimeS } from "../http/fields.ts";
import { messageOf } from "../http/issue-message.ts";
import { type Issue, invalidRequest, Problem } from "../http/problem.ts";
import { Labels } from "../tasks/task-schemas.ts";

/** Values of the `Relay-…` headers of a submission. The value of an absent header is null. */
export interface RelayHeaders {
  readonly callbackUrl: string | null;
  /** Waits before the attempts of the callback, in milliseconds. */
  readonly callbackScheduleMs: readonly number[] | null;
  /** Events of which the receiver of the callback is told. */
  readonly callbackEvents: CallbackEvents | null;
  readonly metadata: z.output<typeof Labels> | null;
  readonly taskId: string | null;
  /** Deadline of the task, in Unix seconds. */
  readonly deadlineAtS: number | null;
  /** Time by which a call that waits must be sent, in Unix seconds. */
  readonly startByS: number | null;
  readonly accountId: string | null;
  /** Price of the submission, and the name of the header that states it. */
  readonly price: { readonly header: string; readonly value: Price } | null;
}

const PREFIX = "relay-";
const WHOLE = /^\d{1,16}$/;
const A_NUMBER = "a whole number";
const Credits = z.int().check(z.minimum(1));

/**
 * Headers that only operators may send, because they decide about the account, the price or the id and deadline of a
 * task.
 */
const FOR_OPERATORS = [
  "Relay-Task-Id",
  "Relay-Deadline-At",
  "Relay-Account",
  "Relay-Credits",
  "Relay-Price",
];
const FOR_ALL = [
  "Relay-Callback-Url",
  "Relay-Callback-Schedule",
  "Relay-Callback-Events",
  "Relay-Metadata",
  "Relay-Start-By",
  "Relay-Key",
];

/**
 * Reads the `Relay-…` headers of a submission, in which the caller tells the relay what the upstream need not know,
 * e.g. the id of the task.
 * @throws Problem `invalid_request` when one is unknown or not valid; `forbidden` when an account sends one that is
 * only for operators.
 */
export function readRelayHeaders(headers: Headers, caller: Caller): RelayHeaders {
  const isOperator = readerOf(caller) === "operator";
  const issues = unknownHeaders(headers, isOperator);
  const denied = FOR_OPERATORS.find((name) => headers.has(name));
  if (!isOperator && denied !== undefined) {
    throw new Problem("forbidden", { detail: `Only operators may send the header ${denied}.` });
  }
  const read = <T>(
    name: string,
    schema: z.ZodMiniType<T>,
    parse: (text: string) => unknown,
    form = "JSON",
  ) => {
    const text = headers.get(name);
    if (text === null) return null;
    const value = parse(text);
    const { data, error } = schema.safeParse(value, { error: messageOf });
    if (error === undefined) return data;
    const [issue] = error.issues;
    const isOfForm = value !== undefined && issue !== undefined;
    const message = isOfForm ? issue.message : `must be ${form}`;
    issues.push({ path: `/${name}${isOfForm ? jsonPointer(issue.path) : ""}`, message });
    return null;
  };
  const credits = read("Relay-Credits", Credits, wholeNumber, A_NUMBER);
  const price = read("Relay-Price", PriceForm, parseJsonAsSent);
  const header = headers.has("Relay-Price") ? "Relay-Price" : "Relay-Credits";
  const found: RelayHeaders = {
    callbackUrl: headers.get("Relay-Callback-Url"),
    callbackScheduleMs: read("Relay-Callback-Schedule", CallbackSchedule, (text) =>
      scheduleIn(text, wholeNumber),
    ),
    callbackEvents: read("Relay-Callback-Events", CallbackEventList, eventsIn),
    metadata: read("Relay-Metadata", Labels, parseJsonAsSent),
    taskId: read("Relay-Task-Id", TaskId, (text) => text),
    deadlineAtS: read("Relay-Deadline-At", TimeS, wholeNumber, A_NUMBER),
    startByS: read("Relay-Start-By", TimeS, wholeNumber, A_NUMBER),
    accountId: read("Relay-Account", AccountId, (text) => text),
    price: pricedBy(header, price ?? (credits === null ? null : { credits })),
  };
  if (headers.has("Relay-Price") && headers.has("Relay-Credits")) {
    issues.push({ path: "/Relay-Credits", message: "must be left out beside Relay-Price" });
  }
  if (found.price !== null && found.accountId === null) {
    issues.push({ path: "/Relay-Account", message: `is required with ${header}` });
  }
  if (issues.length > 0) throw invalidRequest(issues);
  return found;
}

function pricedBy(header: string, form: PriceForm | null): RelayHeaders["price"] {
  return form && { header, value: priceOf(form) };
}

/** Returns a fault for each unknown `Relay-…` header. Each fault lists the headers that the caller may send. */
function unknownHeaders(headers: Headers, isOperator: boolean): Issue[] {
  const known = new Set([...FOR_ALL, ...FOR_OPERATORS].map((name) => name.toLowerCase()));
  const unknown = [...headers.keys()].filter((name) => name.startsWith(PREFIX) && !known.has(name));
  const permitted = isOperator ? [...FOR_ALL, ...FOR_OPERATORS] : FOR_ALL;
  const message = `Unknown header; known are ${permitted.join(", ")}`;
  return unknown.map((name) => ({ path: `/${name}`, message }));
}

/** Returns the number that a text of decimal digits spells; undefined for any other text. */
function wholeNumber(text: string): number | undefined {
  return WHOLE.test(text) ? Number(text) : undefined;
}

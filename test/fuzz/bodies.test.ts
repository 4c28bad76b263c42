import type * as z from "zod/mini";
import {
  Adjustment,
  Grant,
  NewAccount,
  NewKey,
  Rotation,
} from "../../src/api/accounts/account-schemas.ts";
import { readJson, validate } from "../../src/api/http/body.ts";
import { invalidRequest } from "../../src/api/http/problem.ts";
import { NoFields } from "../../src/api/http/fields.ts";
import { TaskFinishEvent } from "../../src/api/tasks/event-schema.ts";
import { Attachment, RedeliverOrder, Registration } from "../../src/api/tasks/task-schemas.ts";
import { EndpointSettings } from "../../src/api/endpoints/endpoint-schemas.ts";
import { TestOrder } from "../../src/api/callbacks/test-callback.ts";
import { fuzz } from "./fuzz.ts";
import { jsonBytes, mutated } from "./mutations.ts";
import { ATTACHMENTS, CALLBACK_URL, EVENTS, REGISTRATIONS } from "./valid-bodies.ts";
import { parsedBy } from "./refusal.ts";
import {
  isEvent,
  isRegistration,
  isShallow,
  mendedText,
  METADATA,
  memberOf,
  readAsWritten,
  SMALL_BODIES,
} from "./wire.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

const ORDER = { attempts: 2, callback_url: CALLBACK_URL };
const TO_ENDPOINT = { endpoint: "orders" };
const ENDPOINTS = [
  { url: CALLBACK_URL },
  {
    url: CALLBACK_URL,
    schedule_s: [0, 60],
    events: ["completed", "progress"],
    own_secret: true,
  },
];
const SAMPLE = { callback_url: CALLBACK_URL, status: "failed" };

interface Body<T> {
  readonly schema: z.ZodMiniType<T>;
  readonly valid: readonly unknown[];
  /** Tells whether the contract allows the parsed JSON. */
  readonly isValid: (value: unknown) => boolean;
  readonly requireSound?: (value: T, given: unknown) => void;
  /** Further defects of the parser, as changes of what it reads. */
  readonly defects?: Readonly<Record<string, (value: T) => T>>;
  readonly cases?: number;
}

function fuzzBody<T>(name: string, body: Body<T>): void {
  const { schema, valid, isValid, requireSound, defects = {}, cases = 12_500 } = body;
  const read = (bytes: Uint8Array<ArrayBuffer>): T => validate(schema, readJson(bytes));
  const further = Object.entries(defects).map(([defect, change]): [string, typeof read] => [
    defect,
    (bytes) => change(read(bytes)),
  ]);
  fuzz(
    `any JSON body of ${name} is accepted if it is valid, and otherwise refused with a list of its faults`,
    {
      cases,
      inputs: jsonBytes(mutated(valid)),
      subject: read,
      defects: {
        "accepts every body": () => validate(schema, valid[0]),
        "refuses every body": () => validate(schema, null),
        "refuses without naming a fault": (bytes) => {
          const parsed = parsedBy(() => read(bytes));
          if (parsed.isAccepted) return parsed.value;
          throw invalidRequest([]);
        },
        "throws an error that is not a refusal": (bytes) => {
          const parsed = parsedBy(() => read(bytes));
          if (parsed.isAccepted) return parsed.value;
          throw new TypeError("planted");
        },
        ...Object.fromEntries(further),
      },
      check: (bytes, subject) => {
        const parsed = parsedBy(() => subject(bytes));
        const given = jsonOf(bytes);
        const isWanted = given.isJson && isShallow(given.value) && isValid(given.value);
        if (parsed.isAccepted !== isWanted)
          throw new Error(parsed.isAccepted ? "the body was accepted" : "the body was refused");
        if (parsed.isAccepted && given.isJson) requireSound?.(parsed.value, given.value);
        return parsed.isAccepted;
      },
    },
  );
}

function jsonOf(bytes: Uint8Array) {
  try {
    const value = readAsWritten(decoder.decode(bytes));
    return { isJson: true, value } as const;
  } catch {
    return { isJson: false } as const;
  }
}

/**
 * Requires that known members with the value null are left out, and that all other members stay, in their
 * order and with well-formed texts.
 */
function requireMetadataKept(event: z.output<typeof TaskFinishEvent>, given: unknown): void {
  if (event.id !== event.id.toLowerCase()) throw new Error("the id is not in lower case");
  if (event.status !== "completed") return;
  const before = memberOf(memberOf(given, "output"), "metadata") ?? {};
  const wanted = Object.entries(before).filter(
    ([name, value]) => !(value === null && Object.hasOwn(METADATA, name)),
  );
  const kept = JSON.stringify(Object.entries(event.output.metadata));
  if (kept !== mendedText(wanted)) throw new Error(`the metadata became ${kept}`);
}

fuzzBody("a task event", {
  schema: TaskFinishEvent,
  valid: EVENTS,
  isValid: isEvent,
  requireSound: requireMetadataKept,
  defects: {
    "loses the metadata": (event) =>
      event.status === "completed"
        ? { ...event, output: { ...event.output, metadata: {} } }
        : event,
    "keeps capital letters in the id": (event) => ({ ...event, id: event.id.toUpperCase() }),
  },
  cases: 100_000,
});
fuzzBody("the registration of a task", {
  schema: Registration,
  valid: REGISTRATIONS,
  isValid: isRegistration,
  cases: 100_000,
});
const SMALL: readonly [string, z.ZodMiniType, object[], (value: unknown) => boolean][] = [
  [
    "a request that attaches a provider's job to a task",
    Attachment,
    ATTACHMENTS,
    SMALL_BODIES.attachment,
  ],
  [
    "a request to redeliver a callback",
    RedeliverOrder,
    [{}, ORDER, TO_ENDPOINT],
    SMALL_BODIES.redelivery,
  ],
  ["a request for a test callback", TestOrder, [SAMPLE, TO_ENDPOINT], SMALL_BODIES.sample],
  ["an endpoint", EndpointSettings, ENDPOINTS, SMALL_BODIES.endpoint],
  ["a request without fields, such as a cancellation,", NoFields, [{}], SMALL_BODIES.nothing],
  ["a new account", NewAccount, [{ id: "acme" }], SMALL_BODIES.account],
  ["a grant of credits", Grant, [{ reference: "invoice-1", amount: 1000 }], SMALL_BODIES.grant],
  [
    "an adjustment of a balance",
    Adjustment,
    ["r", "🎬"].map((letter) => ({
      reference: "ticket-1",
      amount: -15,
      reason: letter.repeat(500),
    })),
    SMALL_BODIES.adjustment,
  ],
  ["a rotation of callback secrets", Rotation, [{}, { generation: 3 }], SMALL_BODIES.rotation],
  [
    "a new account key",
    NewKey,
    [{}, { label: "production", role: "read" }, { sha256: "0f".repeat(32) }],
    SMALL_BODIES.key,
  ],
];
for (const [name, schema, valid, isValid] of SMALL) fuzzBody(name, { schema, valid, isValid });

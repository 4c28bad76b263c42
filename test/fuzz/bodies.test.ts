import type * as z from "zod";
import { describe } from "vitest";
import { Grant, NewAccount, NewKey, Rotation } from "../../src/api/accounts/account-schemas.ts";
import { parseJson, validate } from "../../src/api/http/body.ts";
import {
  Attachment,
  NoFields,
  RedeliverOrder,
  Registration,
  TaskFinishEvent,
  TestOrder,
} from "../../src/api/schemas.ts";
import { type Border, announce, fuzz } from "./fuzz.ts";
import { jsonBytes, mutated } from "./mutations.ts";
import { parsedBy } from "./refusal.ts";
import { isEvent, isRegistration, isShallow, METADATA, memberOf, SMALL_BODIES } from "./wire.ts";

announce("bodies");

const CASES = 100_000;
const SMALL_CASES = 12_500;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

const ID = "0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4";
const CALLBACK_URL = "https://client.example.net/callbacks";
const OUTPUT = {
  urls: ["https://cdn.example.net/video.mp4"],
  metadata: {
    seed: 41485,
    ratio: "16:9",
    duration: 5,
    resolution: "720p",
    generate_audio: true,
    framespersecond: 24,
    model_version: "2.1",
  },
};
const CREATION = {
  model: "doubao-seedance-2.0",
  created_at: 1_792_497_600,
  callback_url: CALLBACK_URL,
  account: "acme",
};
const EVENTS = [
  { id: ID, status: "completed", ...CREATION, completed_at: 1_792_497_700, output: OUTPUT },
  { id: ID.toUpperCase(), status: "failed", error: { code: "moderation", message: "Refused." } },
  { id: ID, status: "processing", model: "m", error: null },
  { id: ID, status: "completed", output: { urls: OUTPUT.urls } },
];
const REGISTRATIONS = [
  { model: "m" },
  {
    id: ID,
    model: "doubao-seedance-2.0",
    callback_url: CALLBACK_URL,
    account: "acme",
    provider: "ark",
    parameters: { input: { seed: 5 } },
    metadata: { order: "7" },
    deadline_at: 1_792_597_600,
    credits: 40,
  },
];

/** A parser of JSON bodies takes exactly what the contract says. */
function body<T>(
  name: string,
  valid: readonly unknown[],
  schema: z.ZodType<T>,
  isValid: (value: unknown) => boolean,
  requireSound: (value: T, given: unknown) => void = () => {},
  cases = SMALL_CASES,
): Border<Uint8Array<ArrayBuffer>> {
  return {
    promise: `takes exactly what the contract says of ${name}, and names what is wrong`,
    cases,
    generate: (choices) => jsonBytes(mutated(choices.pick(valid), choices), choices),
    check: (bytes) => {
      const parsed = parsedBy(() => validate(schema, parseJson(bytes)));
      const given = jsonOf(bytes);
      const isWanted = given.isJson && isShallow(given.value) && isValid(given.value);
      if (parsed.isTaken !== isWanted)
        throw new Error(parsed.isTaken ? "was taken" : "was refused");
      if (parsed.isTaken && given.isJson) requireSound(parsed.value, given.value);
      return parsed.isTaken;
    },
  };
}

function jsonOf(bytes: Uint8Array) {
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes));
    return { isJson: true, value } as const;
  } catch {
    return { isJson: false } as const;
  }
}

/** Known fields that are null are gone; unknown ones are as they came, in their order. */
function requireMetadataKept(event: z.output<typeof TaskFinishEvent>, given: unknown): void {
  if (event.id !== event.id.toLowerCase()) throw new Error("the id is not the task's");
  if (event.status !== "completed") return;
  const before = memberOf(memberOf(given, "output"), "metadata") ?? {};
  const wanted = Object.entries(before).filter(
    ([name, value]) => !(value === null && Object.hasOwn(METADATA, name)),
  );
  const kept = JSON.stringify(Object.entries(event.output.metadata));
  if (kept !== JSON.stringify(wanted)) throw new Error(`the metadata became ${kept}`);
}

const SMALL = {
  attachment: [Attachment, [{ provider: "fal", id: "job-1", endpoint: "fal-ai/kling/v2" }]],
  redelivery: [RedeliverOrder, [{}, { attempts: 2, callback_url: CALLBACK_URL }]],
  sample: [TestOrder, [{ callback_url: CALLBACK_URL, status: "failed" }]],
  nothing: [NoFields, [{}]],
  account: [NewAccount, [{ id: "acme" }]],
  grant: [Grant, [{ reference: "invoice-1", amount: 1000 }]],
  rotation: [Rotation, [{}, { generation: 3 }]],
  key: [NewKey, [{}, { label: "production" }, { sha256: "0f".repeat(32) }]],
} as const;

describe("a body", () => {
  fuzz(body("an event", EVENTS, TaskFinishEvent, isEvent, requireMetadataKept, CASES));
  fuzz(body("a registration", REGISTRATIONS, Registration, isRegistration, () => {}, CASES));
  fuzz(body("an attachment", SMALL.attachment[1], SMALL.attachment[0], SMALL_BODIES.attachment));
  fuzz(body("a redelivery", SMALL.redelivery[1], SMALL.redelivery[0], SMALL_BODIES.redelivery));
  fuzz(body("a sample", SMALL.sample[1], SMALL.sample[0], SMALL_BODIES.sample));
  fuzz(body("no fields", SMALL.nothing[1], SMALL.nothing[0], SMALL_BODIES.nothing));
  fuzz(body("an account", SMALL.account[1], SMALL.account[0], SMALL_BODIES.account));
  fuzz(body("a grant", SMALL.grant[1], SMALL.grant[0], SMALL_BODIES.grant));
  fuzz(body("a rotation", SMALL.rotation[1], SMALL.rotation[0], SMALL_BODIES.rotation));
  fuzz(body("a key", SMALL.key[1], SMALL.key[0], SMALL_BODIES.key));
});

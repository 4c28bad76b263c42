import * as z from "zod/mini";
import { FAULT_CODES } from "../../security/doctor/verdict.ts";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { SENT_REQUEST, SIGNER, Signer } from "../shapes/callback-shape.openapi.ts";
import { described, maybe, named } from "../shapes/described.ts";

const Fault = named(
  "Fault",
  z.strictObject({
    code: z.enum(FAULT_CODES),
    message: described(z.string(), "What is wrong."),
    cure: described(z.string(), "What to do about it."),
    header: maybe(z.string(), "The header that is missing or was changed."),
    expected: maybe(z.string(), "What the header should be."),
    by_s: maybe(z.int(), "Seconds beyond the 300 s that libraries accept."),
    task_id: maybe(z.string(), "Task of the callback."),
    byte: maybe(z.int(), "Position of the first byte of the body that differs, from 0."),
    sent: maybe(z.string(), "The body from there on, as it was sent."),
    received: maybe(z.string(), "The body from there on, as it was received."),
  }),
  "What is wrong with a callback as a server has received it.",
);

const Verdict = named(
  "Verdict",
  z.strictObject({
    verdict: described(z.enum(["valid", "stale", "invalid"]), "`stale`: valid but for its age."),
    signed_by: described(z.array(Signer), "The secrets and keys under which it is valid."),
    signed_with: maybe(z.string(), "Whose secret or key that is, and whose not."),
    account: maybe(z.string(), "The account of the task, if it has one."),
    attempt: described(z.nullable(z.int()), "Number of the attempt that has this timestamp."),
    age_s: described(z.nullable(z.int()), "Age of the timestamp in seconds."),
    faults: described(z.array(Fault), "What is wrong, gravest first."),
  }),
  "The judgement on a callback as a server has received it.",
);

export const verifyCallbackDescription = {
  audience: "client",
  summary: "Find out why a server refuses a callback, from the headers and the body it received",
  details: "Nothing is sent or stored.",
  request: {
    example: { headers: SENT_REQUEST.headers, body: SENT_REQUEST.body },
    fields: {
      headers:
        "The headers that the server received: an object, or a text in any usual notation (HTTP, JSON, options of curl, a quoted mail, a printed map).",
      body: "The body that the server received, as text.",
      received_at: "When the server received it, in Unix seconds; now by default.",
    },
  },
  answers: {
    200: jsonAnswer("the verdict, also on a callback that is not valid", Verdict, {
      verdict: "stale",
      signed_by: [SIGNER],
      signed_with: "secret no. 1 (current) of the account acme, not a secret of the relay itself",
      account: "acme",
      attempt: 1,
      age_s: 412,
      faults: [
        {
          code: "too_old",
          message: "The callback was signed 412 s ago, and libraries accept 300 s.",
          cure: "If the server saw it at once, set its clock by NTP.",
          by_s: 112,
        },
      ],
    }),
  },
  problems: ["unknown_task", "task_open", "no_callback"],
} as const satisfies RouteDescription;

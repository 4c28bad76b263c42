import { emptyAnswer, jsonAnswer, type RouteDescription } from "./description.ts";
import { SENT_REQUEST } from "./examples.ts";
import { AttemptRequest, Verdict } from "./schemas/verdict.ts";

const SIGNER = { scheme: "v1", age: "current", generation: 1 } as const;

/**
 * Descriptions of the routes about the delivery of callbacks: one receives them over a WebSocket, one shows
 * the request of a past attempt, and one finds out why a server refuses a callback.
 */
export const DELIVERY_ROUTES = {
  listen: {
    audience: "client",
    summary: "Receive the callbacks of tasks with the `callback_url` `listen:` over a WebSocket",
    details:
      "Used by the programs `npm run listen` and `npx task-relay-client listen`, which pass the callbacks on to a receiver without a public address. Needs `LISTEN=true`.",
    request: { headers: ["Upgrade"] },
    answers: { 101: emptyAnswer("the WebSocket is open") },
    problems: ["not_found"],
  },
  readAttemptRequest: {
    audience: "client",
    summary: "Read the exact request of a past attempt, computed again",
    details: "With `fresh` it is signed with the present time, which needs the access redeliver.",
    request: {
      query: {
        fresh: { description: "`true` signs with the present time.", example: "true" },
      },
    },
    answers: {
      200: jsonAnswer("the request", AttemptRequest, {
        ...SENT_REQUEST,
        exact: true,
        signed_by: [SIGNER],
      }),
    },
    problems: ["unknown_task", "task_open", "no_callback", "not_found"],
  },
  verifyCallback: {
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
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;

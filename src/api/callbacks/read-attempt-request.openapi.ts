import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { SENT_REQUEST, SIGNER, Signer } from "../shapes/callback-shape.openapi.ts";
import { SENT_FIELDS } from "../shapes/callback-shape.ts";
import { described, named } from "../shapes/described.ts";

const AttemptRequest = named(
  "AttemptRequest",
  z.strictObject({
    ...SENT_FIELDS,
    exact: described(
      z.nullable(z.boolean()),
      "Whether these are proved to be the headers that were sent; null when that is not known.",
    ),
    signed_by: described(z.array(Signer), "In the order of the signatures in the header."),
  }),
  "The request of one attempt of a callback.",
);

export const readAttemptRequestDescription = {
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
} as const satisfies RouteDescription;

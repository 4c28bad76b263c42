import * as z from "zod/mini";
import { described, maybe, named } from "./described.ts";
import { COMPLETED_CALLBACK, OPEN_TASK, TASK_ID } from "./task-shape.openapi.ts";

export const SENT_REQUEST = {
  method: "POST" as const,
  url: OPEN_TASK.callback.url,
  headers: {
    "Content-Type": "application/json",
    "User-Agent": "TaskRelay/1 (+https://relay.example.com)",
    "X-Event": "task.completed",
    "X-Task-Id": TASK_ID,
    "X-Timestamp": "1767225661",
    "X-Attempt": "1",
    "webhook-id": `msg_${TASK_ID}`,
    "webhook-timestamp": "1767225661",
    "webhook-signature": "v1,hQh5CvFwyWiSxpdvnXVkOVRLQDqrZmhUcSmCqJ0aJxM=",
  },
  body: JSON.stringify(COMPLETED_CALLBACK),
};

export const Signer = named(
  "Signer",
  z.strictObject({
    scheme: z.enum(["v1", "v1a"]),
    age: described(
      z.enum(["current", "next", "previous"]),
      "Whether the secret is the present one, that after the next rotation, or an older one.",
    ),
    generation: maybe(z.int(), "Generation of the secret of the account or the endpoint."),
    endpoint: maybe(z.string(), "Endpoint whose own secret it is."),
    relay_secret: maybe(z.int(), "Place in RELAY_SECRET, from 1, unless it is the newest."),
    kid: maybe(z.string(), "Key id, as in `/.well-known/jwks.json`."),
  }),
  "A secret or key that signs callbacks, without the secret.",
);

/** Example of how the API names a secret or key that signs a callback, for the description of the API. */
export const SIGNER = { scheme: "v1", age: "current", generation: 1 } as const;

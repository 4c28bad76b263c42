import * as z from "zod/mini";
import { emptyAnswer, jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { described, named, Time } from "../shapes/described.ts";

const PausedHost = named(
  "PausedHost",
  z.strictObject({
    host: z.string(),
    paused_until: Time,
    seen_within_s: described(
      z.int(),
      "Seconds after which no attempt to the host starts any more.",
    ),
  }),
  "A host to which no callbacks are sent.",
);

export const pauseHostDescription = {
  audience: "operator",
  summary: "Pause the callbacks to one host, or move the end of its pause",
  details:
    "A callback whose attempt is due meanwhile has the status `paused`. No attempt is lost or counted: each is made within ten minutes after the pause. A redelivery to the host rests too, and a test callback is refused with 409 `host_paused`. Needs no index.",
  request: {
    example: {},
    fields: {
      until:
        "End of the pause in Unix seconds, at most 7 days ahead; by default in 24 hours. Callbacks then go on by themselves.",
    },
  },
  answers: {
    200: jsonAnswer("paused", PausedHost, {
      host: "client.example.com",
      paused_until: 1_767_225_600,
      seen_within_s: 10,
    }),
  },
  problems: ["pauses_full"],
} as const satisfies RouteDescription;

export const resumeHostDescription = {
  audience: "operator",
  summary: "End the pause of one host",
  details: "The attempts that rest are made within ten minutes, spread over them.",
  answers: { 204: emptyAnswer("resumed, or not paused") },
  problems: [],
} as const satisfies RouteDescription;

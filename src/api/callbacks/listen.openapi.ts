import { emptyAnswer, type RouteDescription } from "../http/route.openapi.ts";

export const listenDescription = {
  audience: "client",
  summary: "Receive the callbacks of tasks with the `callback_url` `listen:` over a WebSocket",
  details:
    "Used by the programs `npm run listen` and `npx task-relay-client listen`, which pass the callbacks on to a receiver without a public address. Needs `LISTEN=true`.",
  request: { headers: ["Upgrade"] },
  answers: { 101: emptyAnswer("the WebSocket is open") },
  problems: ["not_found"],
} as const satisfies RouteDescription;

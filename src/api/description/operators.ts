import type { RouteDescription } from "./description.ts";

/** Descriptions of the routes about the relay itself: its keys, its state and its pages. */
export const OPERATOR_ROUTES = {
  readSigningSecrets: {
    audience: "operator",
    summary:
      "Read the secrets that receivers verify callbacks with and that your upstream signs events with",
    answers: { 200: { description: "the secrets, newest first" } },
    problems: [],
  },
  readJwks: {
    audience: "client",
    summary: "Read the public keys of the v1a signatures (RFC 7517)",
    answers: { 200: { description: "the key set" } },
    problems: [],
  },
  readHealth: {
    audience: "operator",
    summary: "Report whether the relay is configured; the operator also sees the settings",
    answers: {
      200: { description: "configured" },
      503: { description: "not configured; issues names the variables" },
    },
    problems: [],
  },
  readErrorsPage: {
    audience: "client",
    summary: "Read the cause and the cure of every problem code, as HTML",
    answers: { 200: { description: "the page" } },
    problems: [],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;

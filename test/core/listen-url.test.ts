import { expect, it } from "vitest";
import { wireOf } from "../../src/console/parts/attempt-curl.ts";
import { hostOf } from "../../src/core/url.ts";
import { checkCallbackUrl, LISTEN_REFUSAL } from "../../src/security/url-rules.ts";

const RULES = { allowLocal: true, allowIp: true, ownOrigin: "https://relay.example.com" };
const REFUSED = "refused even with LISTEN=true for a task with an account";
const OTHER = `${REFUSED}, because it is not exactly listen:`;

it.each([
  ["listen:", "accepted with LISTEN=true for a task with an account", true, null],
  ["listen:", "refused without LISTEN=true", false, LISTEN_REFUSAL],
  ["LISTEN:", OTHER, true, "must use https: or http:"],
  ["listen:3000", OTHER, true, "must use https: or http:"],
  ["listen://example.com", OTHER, true, "must use https: or http:"],
  ["listen:#", OTHER, true, "must use https: or http:"],
  [
    "https://listen/",
    `${REFUSED}, because its host name has no dot`,
    true,
    "must use a fully qualified host name",
  ],
])(
  "only the exact text listen: is a callback URL that asks for callbacks over a WebSocket, and only with LISTEN=true: %s is %s",
  (text, _, allowListen, error) => {
    const verdict = checkCallbackUrl(text, { ...RULES, allowListen });
    expect(verdict.ok ? null : verdict.error).toBe(error);
  },
);

it("tasks with the callback URL listen: (for callbacks over a WebSocket) have the host 'listen' in the index", () => {
  expect(hostOf("listen:")).toBe("listen");
});

it("the console shows the request of a callback attempt to the callback URL listen: without a Host header", () => {
  const request = {
    method: "POST" as const,
    url: "listen:",
    headers: { "X-Attempt": "1" },
    body: "{}",
  };
  expect(wireOf({ ...request, exact: true, signed_by: [] })).toBe(
    "POST listen: HTTP/1.1\nX-Attempt: 1\n\n{}",
  );
});

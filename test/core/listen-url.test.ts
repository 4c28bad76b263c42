import { expect, it } from "vitest";
import { wireOf } from "../../src/console/verification-code.ts";
import { hostOf } from "../../src/core/url.ts";
import { checkCallbackUrl, LISTEN_REFUSAL } from "../../src/security/url-policy.ts";

const POLICY = { allowLocal: true, allowIp: true, ownOrigin: "https://relay.example.com" };

it.each([
  ["listen:", true, null],
  ["listen:", false, LISTEN_REFUSAL],
  ["LISTEN:", true, "must use https: or http:"],
  ["listen:3000", true, "must use https: or http:"],
  ["listen://example.com", true, "must use https: or http:"],
  ["listen:#", true, "must use https: or http:"],
  ["https://listen/", true, "must use a fully qualified host name"],
])(
  "the fault found in the callback URL %s (null: accepted), with allowListen set to %s, is %j",
  (text, allowListen, error) => {
    const verdict = checkCallbackUrl(text, { ...POLICY, allowListen });
    expect(verdict.ok ? null : verdict.error).toBe(error);
  },
);

it("the host of the callback URL listen: is listen, under which lists find its tasks", () => {
  expect(hostOf("listen:")).toBe("listen");
});

it("the console shows the request of an attempt at listen: without a host", () => {
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

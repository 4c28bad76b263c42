import { describe, expect, it } from "vitest";
import { unansweredAttempt } from "../../src/core/record/callback.ts";
import { withoutHeaderValues } from "../../src/outbound/endpoint-headers.ts";
import { keyringOf } from "../../src/security/keyring.ts";
import { openHeaders, sealHeaders } from "../../src/security/sealed-headers.ts";

const PLACE = { account: "acme", name: "orders" };
const HEADERS = { Authorization: "Bearer secret-value-1", "X-Token": "other-value-2" };

async function keysOf(...relaySecrets: readonly string[]) {
  const none = { signingSecrets: null, eventsSecrets: null, signingKeys: null };
  const keyring = await keyringOf({ relaySecrets, ...none });
  if (keyring === null) throw new Error("no keyring");
  return keyring;
}

const [OLD, NEW] = ["o".repeat(32), "n".repeat(32)];
const { headerKeys, sealingKeys } = await keysOf(OLD);
const sealed = await sealHeaders(HEADERS, PLACE, headerKeys);

/** Returns the excerpt that is kept of an answer. */
function shown(responseExcerpt: string): string | null {
  const result = { ...unansweredAttempt("rejected"), responseExcerpt };
  return withoutHeaderValues(result, HEADERS).responseExcerpt;
}

describe("sealed headers", () => {
  it("headers are opened for the endpoint for which they were sealed, and their names are not secret", async () => {
    expect(sealed.names).toEqual(["Authorization", "X-Token"]);
    expect(JSON.stringify(sealed)).not.toContain("value");
    expect(await openHeaders(sealed, PLACE, headerKeys)).toEqual(HEADERS);
    const rotated = await keysOf(NEW, OLD);
    expect(await openHeaders(sealed, PLACE, rotated.headerKeys)).toEqual(HEADERS);
  });

  it.each([
    ["another account", { ...PLACE, account: "other" }],
    ["the relay", { ...PLACE, account: null }],
    ["another endpoint", { ...PLACE, name: "b" }],
  ])("headers cannot be opened for %s", async (_what, place) => {
    expect(await openHeaders(sealed, place, headerKeys)).toBeNull();
  });

  it("headers cannot be opened without the relay secret, or with the keys for keys of customers", async () => {
    const { headerKeys: later } = await keysOf(NEW);
    expect(await openHeaders(sealed, PLACE, later)).toBeNull();
    expect(await openHeaders(sealed, PLACE, sealingKeys)).toBeNull();
  });
});

describe("the answer of a receiver that repeats the values of headers", () => {
  it.each([
    ["as they are", "got Bearer secret-value-1", "got …"],
    ["without the word before it", "token=secret-value-1;", "token=…;"],
    ["escaped", '{"a":"secret\\u002dvalue-1"}', '{"a":"…"}'],
    ["cut off at the end", "got other-val", "got "],
    ["not at all", "got nothing", "got nothing"],
  ])("an answer that has them %s is kept without them", (_what, text, kept) => {
    expect(shown(text)).toBe(kept);
  });

  it("its headers are kept without them too", () => {
    const answer = { contentType: "a/other-value-2", locationHost: null, retryAfter: null };
    const result = { ...unansweredAttempt("rejected"), answer };
    expect(withoutHeaderValues(result, HEADERS).answer).toEqual({
      ...answer,
      contentType: "a/…",
    });
  });
});

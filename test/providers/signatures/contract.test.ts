import { describe, expect, it, vi } from "vitest";
import { areHooksVerified } from "../../../src/providers/verifies-hooks.ts";
import type { UpstreamProvider } from "../../../src/providers/provider.ts";
import { aConnection, NOW, NOW_S, tampered } from "../hook.ts";
import { authenticity } from "./scheme.ts";
import { SCHEMES } from "./schemes.ts";

/** Returns the settings with which the hooks of a connection could be verified, in each combination. */
function settings({ jwksUrl }: UpstreamProvider) {
  const urls = jwksUrl === undefined ? [null, "https://example.com/keys"] : [jwksUrl];
  return urls.flatMap((url) =>
    [null, "a key"].flatMap((key) =>
      [null, "a secret"].map((webhookSecret) => ({ jwksUrl: url, key, webhookSecret })),
    ),
  );
}

describe.each(Object.values(SCHEMES))("a hook of $provider.name", (scheme) => {
  const { provider, headers, proves, isOverBody } = scheme;
  const { name } = provider;
  const accepted = proves === "signed" ? "accepted as signed" : "accepted, but treated as unsigned";
  const doubt = isOverBody
    ? "all customers of the provider share its keys"
    : "the signature does not cover the body";
  const judged = proves === "signed" ? accepted : `${accepted}, because ${doubt}`;

  it(`a hook of ${name} with a valid signature is ${judged}`, async () => {
    expect(await authenticity(scheme)).toBe(proves);
  });

  it(`a validly signed hook of ${name} with non-ASCII characters in its body is ${judged}`, async () => {
    const time = headers["Date"] ?? `${NOW_S}`;
    const signed = await scheme.sign(time, scheme.unicodeBody);
    expect(await authenticity(scheme, { headers: signed, body: scheme.unicodeBody })).toBe(proves);
  });

  it.runIf(provider.jwksUrl === undefined)(
    `a hook of ${name} without signature headers is accepted and treated as unsigned if no secret is configured`,
    async () => {
      const none = Object.fromEntries(Object.keys(headers).map((header) => [header, undefined]));
      const connection = { webhookSecret: null, key: null };
      expect(await authenticity(scheme, { headers: none, connection })).toBe("unsigned");
    },
  );

  it.each(settings(provider))(
    `a connection to ${name} counts as one whose hooks are verified exactly when the relay refuses its hooks without a signature: with the settings %j`,
    async (connection) => {
      const none = Object.fromEntries(Object.keys(headers).map((header) => [header, undefined]));
      const verdict = await authenticity(scheme, { headers: none, connection });
      const isVerified = areHooksVerified(aConnection({ provider, ...connection }));
      expect(verdict).toBe(isVerified ? "refused" : "unsigned");
    },
  );

  it.each(scheme.wrongConnections)(
    `a validly signed hook of ${name} is refused if the relay's connection to ${name} has the wrong setting %j`,
    async (connection) => {
      expect(await authenticity(scheme, { connection })).toBe("refused");
    },
  );

  it.each(Object.keys(headers))(
    `a hook of ${name} without the header %s is refused`,
    async (header) => {
      expect(await authenticity(scheme, { headers: { [header]: undefined } })).toBe("refused");
      expect(await authenticity(scheme, { headers: { [header]: "" } })).toBe("refused");
    },
  );

  it.each([
    ["301 s in the future", "refused", -301, "refused"],
    ["300 s in the future", accepted, -300, proves],
    ["300 s old", accepted, 300, proves],
    ["301 s old", "refused", 301, "refused"],
  ])(
    `a validly signed hook of ${name} whose timestamp is %s is %s`,
    async (_when, _words, shift, verdict) => {
      expect(await authenticity(scheme, { now: NOW + shift * 1000 })).toBe(verdict);
    },
  );

  it(`the body of a hook of ${name} is not read when the hook's signature is missing or too old`, async () => {
    const onRead = vi.fn();
    const without = Object.keys(headers).map((header) => ({ headers: { [header]: "" } }));
    for (const changes of [...without, { now: NOW + 301_000 }]) {
      expect(await authenticity(scheme, { ...changes, onRead })).toBe("refused");
    }
    expect(onRead).not.toHaveBeenCalled();
  });

  it.each(scheme.otherTimes)(
    `a hook of ${name} is refused when the time in its signature is spelled "%s"`,
    async (time) => {
      expect(await authenticity(scheme, { headers: await scheme.sign(time) })).toBe("refused");
    },
  );

  it.each(Object.entries(scheme.refused))(
    `a hook of ${name} whose signature %s is refused`,
    async (_, changed) => {
      expect(await authenticity(scheme, { headers: changed })).toBe("refused");
    },
  );

  it.runIf(scheme.rotated !== null)(
    `a hook of ${name} with two signatures is accepted if the second is valid`,
    async () => {
      expect(await authenticity(scheme, { headers: scheme.rotated ?? {} })).toBe(proves);
    },
  );

  it.runIf(isOverBody)(
    `a hook of ${name} is refused when its body has other bytes than the signed one`,
    async () => {
      const reformatted = JSON.stringify(JSON.parse(scheme.body), null, 1);
      for (const body of [tampered(scheme.body), reformatted, ""]) {
        expect(await authenticity(scheme, { body })).toBe("refused");
      }
    },
  );
});

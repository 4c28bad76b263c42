import { describe, expect, it } from "vitest";
import { PROVIDERS } from "../../../src/providers/registry.ts";
import { NOW, NOW_S, tampered } from "../hook.ts";
import { authenticity } from "./scheme.ts";
import { SCHEMES } from "./schemes.ts";

it("has a scheme for every provider that signs its hooks", () => {
  const signing = [...PROVIDERS.values()].filter(({ hooks }) =>
    ["body-signed", "request-signed"].includes(hooks?.assurance ?? ""),
  );
  const named = SCHEMES.map(({ provider }) => provider.name);
  expect(named.toSorted()).toEqual(signing.map(({ name }) => name).toSorted());
});

describe.each(SCHEMES)("a hook of $provider.name", (scheme) => {
  const { provider, headers, proves } = scheme;
  const isBodySigned = provider.hooks?.assurance === "body-signed";

  it(`with the signature composed by hand is ${proves}`, async () => {
    expect(await authenticity(scheme)).toBe(proves);
  });

  it(`signed beyond ASCII is ${proves}`, async () => {
    const time = headers["Date"] ?? `${NOW_S}`;
    const signed = await scheme.sign(time, scheme.unicodeBody);
    expect(await authenticity(scheme, { headers: signed, body: scheme.unicodeBody })).toBe(proves);
  });

  it.runIf(provider.name !== "fal")("is unsigned where no secret is configured", async () => {
    const none = Object.fromEntries(Object.keys(headers).map((name) => [name, undefined]));
    const connection = { webhookSecret: null, key: null };
    expect(await authenticity(scheme, { headers: none, connection })).toBe("unsigned");
  });

  it.each(scheme.wrongConnections)("is refused with %j", async (connection) => {
    expect(await authenticity(scheme, { connection })).toBe("refused");
  });

  it.each(Object.keys(headers))("is refused without a value of %s", async (name) => {
    expect(await authenticity(scheme, { headers: { [name]: undefined } })).toBe("refused");
    expect(await authenticity(scheme, { headers: { [name]: "" } })).toBe("refused");
  });

  it.each([
    [-301, "refused"],
    [-300, proves],
    [300, proves],
    [301, "refused"],
  ])("that is read %i s after its signature is %s", async (shift, verdict) => {
    expect(await authenticity(scheme, { now: NOW + shift * 1000 })).toBe(verdict);
  });

  it.each(scheme.otherTimes)("signed with the time written as %j is refused", async (time) => {
    expect(await authenticity(scheme, { headers: await scheme.sign(time) })).toBe("refused");
  });

  it.each(Object.entries(scheme.refused))("with a signature %s is refused", async (_, changed) => {
    expect(await authenticity(scheme, { headers: changed })).toBe("refused");
  });

  it.runIf(scheme.rotated !== null)("is accepted by the second of two signatures", async () => {
    expect(await authenticity(scheme, { headers: scheme.rotated ?? {} })).toBe(proves);
  });

  it.runIf(isBodySigned)("is refused with any other bytes of the body", async () => {
    const reformatted = JSON.stringify(JSON.parse(scheme.body), null, 1);
    for (const body of [tampered(scheme.body), reformatted, ""]) {
      expect(await authenticity(scheme, { body })).toBe("refused");
    }
  });
});

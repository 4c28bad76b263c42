import * as fc from "fast-check";
import { expect, it } from "vitest";
import { SecretCover } from "../../src/outbound/answer-secrets.ts";

const SECRET = "sk-a/b+c=d&e:0123456789";
const escaped = SECRET.replaceAll(
  /./g,
  (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
);

const lengthOf = (text: string) => new TextEncoder().encode(text).length;

/** Passes a text on in pieces that end at these places. */
function passedOn(text: string, secrets: readonly string[], ends: readonly number[]): string {
  const bytes = new TextEncoder().encode(text);
  const cover = new SecretCover(secrets);
  const sorted = [0, ...ends.toSorted((a, b) => a - b), bytes.length];
  const pieces = sorted.slice(1).map((end, at) => cover.push(bytes.subarray(sorted[at], end)));
  return new TextDecoder().decode(Buffer.concat([...pieces, cover.end()]));
}

it.each([
  ["as it is", SECRET],
  ["with the escapes of JSON", escaped],
  ["in base64", btoa(SECRET)],
])(
  "a secret in an answer that is passed on in pieces, %s, is covered wherever the pieces end, and nothing else changes",
  (_, spelled) => {
    const filling = `{"picture":"${"iVBORé".repeat(6_000)}`;
    const before = `${filling}","key":"`;
    const text = `${before}${spelled}","rest":"${filling}"}`;
    const inSecret = fc.integer({
      min: lengthOf(before),
      max: lengthOf(before) + lengthOf(spelled),
    });
    const places = fc.array(fc.oneof(inSecret, fc.nat(lengthOf(text))), { maxLength: 6 });
    fc.assert(
      fc.property(places, (ends) => {
        const covered = passedOn(text, [SECRET], ends);
        expect(covered.length).toBe(text.length);
        const [first, last] = covered.split(/\*{20,}/);
        expect([text.startsWith(first ?? "?"), text.endsWith(last ?? "?")]).toEqual([true, true]);
        expect(passedOn(text, [], ends)).toBe(text);
      }),
      { numRuns: 30, seed: 54 },
    );
  },
);

it("a secret with characters outside ASCII is covered in an answer that is passed on in pieces", () => {
  const secret = "whsec_é€0123456789";
  expect(passedOn(`{"a":"${secret}"}`, [secret], [])).toMatch(/^\{"a":"\*+"\}$/);
});

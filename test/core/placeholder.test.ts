import { expect, it } from "vitest";
import { placeholderOf, withLinks } from "../../src/objects/call/placeholder.ts";

const LINKS = Array.from({ length: 12 }, (_, i) => `https://relay.example.com/o/"${i + 1}"`);

it("links replace the placeholders in the text of an answer, as JSON, each by its number", () => {
  const json = JSON.stringify({
    data: [1, 12, 1].map((number) => ({ url: placeholderOf("t0", number) })),
    text: `![a](${placeholderOf("t0", 2)}) 3`,
  });
  expect(JSON.parse(withLinks(json, "t0", LINKS))).toEqual({
    data: [0, 11, 0].map((at) => ({ url: LINKS[at] })),
    text: `![a](${LINKS[1]}) 3`,
  });
});

it("placeholders without a link, and texts that only look like placeholders, stay in the text of an answer", () => {
  const json = JSON.stringify(["relay-output:t0:13", "relay-output:t0:x", "relay-output:t1:1", ""]);
  expect(withLinks(json, "t0", LINKS)).toBe(json);
});

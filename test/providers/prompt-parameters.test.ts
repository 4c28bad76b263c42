import * as fc from "fast-check";
import { expect, it } from "vitest";
import { hasPromptParameters } from "../../src/providers/shared/prompt-parameters.ts";

const LONG = "resolution ratio duration frames framespersecond seed camerafixed watermark".split(
  " ",
);
const SHORT = "rs rt dur fps cf wm".split(" ");

function request(prompt: string): string {
  return JSON.stringify({ model: "a", content: [{ type: "text", text: prompt }], n: 1 });
}

/** Writes some characters of a text as escapes of JSON: the one with number i if `isEscaped(i)`. */
function escaped(text: string, isEscaped: (i: number) => boolean): string {
  return Array.from(text, (character, i) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    return isEscaped(i) ? String.raw`\u${i % 2 === 0 ? code : code.toUpperCase()}` : character;
  }).join("");
}

it.each([...LONG, ...SHORT])(
  "the parameter --%s of a Seedance prompt is found in the text of a request",
  (name) => {
    expect(hasPromptParameters(request(`a fox --${name} 5`))).toBe(true);
    expect(hasPromptParameters(request(`a fox.--${name.toUpperCase()} 5`))).toBe(true);
    expect(hasPromptParameters(request(`--${name}`))).toBe(true);
  },
);

it.each([...LONG, ...SHORT])(
  "the parameter --%s of a Seedance prompt is found however its characters are escaped in the JSON of the request",
  (name) => {
    const spelling = fc.tuple(
      fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
      fc.boolean(),
      fc.constantFrom(" 5", "=5", "5", "\\n5", "\\u00205", "\u3000 5"),
    );
    const property = fc.property(spelling, ([escapes, isUpper, value]) => {
      const parameter = `--${isUpper ? name.toUpperCase() : name}`;
      const written = `${escaped(parameter, (i) => escapes[i] === true)}${value}`;
      const body = `{"content":[{"text":"a fox ${written}"}]}`;
      expect(() => JSON.parse(body)).not.toThrow();
      expect(hasPromptParameters(body)).toBe(true);
    });
    fc.assert(property, { seed: 20_261_121, numRuns: 200 });
  },
);

it.each([
  "a fox",
  "a fox -- running",
  "a fox--running fast",
  "a fox --",
  "a fox -dur 5",
  "a fox - -dur 5",
  "a fox --seedance",
  "a fox --durable and --ratios",
  "https://cdn.example/fox--x-s3/a.png?a--b",
  "data:image/png;base64,aGVsbG8+/w==",
])("no parameter of Seedance is found in a prompt that has none: %s", (prompt) => {
  expect(hasPromptParameters(request(prompt))).toBe(false);
  expect(hasPromptParameters(escaped(prompt, () => true))).toBe(false);
});

it("the pattern that finds parameters in a prompt gives the same result each time it is applied to a text", () => {
  const bodies = [request("a fox --dur 5"), request("a fox --dur 5"), request("a fox")];
  expect(bodies.map((body) => hasPromptParameters(body))).toEqual([true, true, false]);
});

it.each([
  ["plainly", () => false],
  ["with all characters escaped", () => true],
  ["with every other character escaped", (i: number) => i % 2 === 0],
] as const)(
  "the parameter --framespersecond, written %s, is found at every position near the 65,536th character of a text, and the longer word --framespersecondly is not",
  (_, isEscaped) => {
    const parameter = escaped("--framespersecond", isEscaped);
    const word = escaped("--framespersecondly", isEscaped);
    for (let at = 65_536 - 240; at < 65_536 + 240; at++) {
      const before = "a".repeat(at);
      const after = "a ".repeat(200);
      expect(hasPromptParameters(`${before}${parameter} ${after}`)).toBe(true);
      expect(hasPromptParameters(`${before}${word} ${after}`)).toBe(false);
      expect(hasPromptParameters(`${before}${parameter}`)).toBe(true);
    }
  },
);

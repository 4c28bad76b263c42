import * as fc from "fast-check";
import { expect, it } from "vitest";
import { isModelOf } from "../../src/core/offers/model-glob.ts";
import { fuzz, weighted } from "./fuzz.ts";
import { expectLinear, repeated, withNames } from "./linear-time.ts";

const CHARACTERS = ["a", "b", "A", "-", ".", "?", "+", "(", "[", "\\", "$", "^", "\n", "\u{1f600}"];
const text = fc
  .array(weighted([8, fc.constantFrom("a", "b")], [2, fc.constantFrom(...CHARACTERS)]), {
    maxLength: 3,
  })
  .map((characters) => characters.join(""));

/** Generator of the parts between the `*` of a glob, and of what stands for each `*` in the name of a model. */
const parts = fc.tuple(text, fc.array(fc.tuple(text, text), { maxLength: 4 }));

/** Generator of a glob and the name of a model, which the glob matches in about half of the cases. */
const compared = fc
  .tuple(
    parts,
    weighted(
      [5, fc.constant<string | null>(null)],
      [5, fc.tuple(text, text, text).map((all) => all.join(""))],
    ),
  )
  .map(([[head, others], other]) => ({
    glob: [head, ...others.map(([, part]) => part)].join("*"),
    model: other ?? head + others.map(([between, part]) => between + part).join(""),
  }));

/** Returns the pattern of a text in which no character has a special meaning. */
function literal(part: string): string {
  return part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

/** Tells whether the glob matches, by the regular expression that means the same. */
function matchesReference({ glob, model }: { readonly glob: string; readonly model: string }) {
  return new RegExp(`^${glob.split("*").map(literal).join("[^]*")}$`).test(model);
}

fuzz(
  "a pattern for models in OFFERS, such as veo-*, matches the name of a model exactly when the regular expression with the same meaning does",
  {
    inputs: compared,
    subject: isModelOf,
    defects: {
      "does not look at what follows the last *": (glob, model) => {
        return isModelOf(glob.replace(/\*[^*]*$/, "*"), model);
      },
      "lets the end of the glob overlap what stands before": (glob, model) => {
        const [head = "", ...others] = glob.split("*");
        const tail = others.at(-1);
        const isOverlapped = others.length === 1 && model.startsWith(head);
        return isOverlapped && tail !== undefined ? model.endsWith(tail) : isModelOf(glob, model);
      },
      "takes * for one character or more": (glob, model) => {
        return (
          isModelOf(glob, model) && !(glob.includes("*") && glob.replaceAll("*", "") === model)
        );
      },
      "ignores the case of letters": (glob, model) => {
        return isModelOf(glob.toLowerCase(), model.toLowerCase());
      },
      "takes ? for any character": (glob, model) => isModelOf(glob.replaceAll("?", "*"), model),
    },
    check: (input, isMatch) => {
      const isMatched = isMatch(input.glob, input.model);
      expect([input, isMatched]).toEqual([input, matchesReference(input)]);
      return isMatched;
    },
  },
);

it.each(withNames(["a", "ab", "*", "\u{1f600}"]))(
  "the name of a model in which %s is repeated is compared with patterns of many * in linear time",
  (_, part) => {
    for (const glob of ["*a*a*a*a*a*a*b", "a*a*a*a*a*a*a*", "*aaaab*", "**********b"]) {
      expectLinear((length) => {
        const model = repeated(part, length);
        return () => isModelOf(glob, model);
      }, 65_536);
    }
  },
);

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isModelOf, ModelIndex } from "../../src/core/offers/model-glob.ts";

// A right change must not fail by chance.
fc.configureGlobal({ seed: 20_261_121 });

describe("the models of an offer", () => {
  it.each([
    ["seedance", "seedance"],
    ["seedance-*", "seedance-1-0-pro"],
    ["seedance-*", "seedance-"],
    ["*-pro", "seedance-1-0-pro"],
    ["*-pro", "-pro-pro"],
    ["see*pro", "seepro"],
    ["see*-1-*-pro", "seedance-1-0-pro"],
    ["*dance*", "dance"],
    ["*a*ab*b", "aabb"],
    ["a*b*b*c", "abbc"],
    ["a**c", "ac"],
    ["*", "any/model:1"],
    ["a.c", "a.c"],
  ])("the glob %s matches the model %s", (glob, model) => {
    expect(isModelOf(glob, model)).toBe(true);
  });

  it.each([
    ["the model is longer than a name", "seedance", "seedance-1"],
    ["the model begins otherwise", "seedance-*", "a-seedance-1"],
    ["the beginning has other characters of the same number", "seedance-*", "dreamina-1"],
    ["the model ends otherwise", "*-pro", "seedance-1-0-pro-fast"],
    ["beginning and end overlap in the model", "see*edance", "seedance"],
    ["a part between two stars is absent", "see*-1-*-pro", "seedance-2-0-pro"],
    ["the parts between the stars come in another order", "*b*a*", "aab"],
    ["one place in the model would have to be two parts", "*dance*dance*", "dance"],
    ["a part and the end overlap in the model", "*dance*ance", "seedance"],
    ["a character other than * differs", "a.c", "abc"],
  ])("a glob does not match a model when %s: %s and %s", (_when, glob, model) => {
    expect(isModelOf(glob, model)).toBe(false);
  });
});

/** Returns the index of a list with one glob for each offer. */
function indexOf(globs: readonly string[]): ModelIndex {
  const index = new ModelIndex();
  for (const [position, glob] of globs.entries()) index.add(glob, position);
  return index;
}

describe("the index of the models of a list of offers", () => {
  it("finds the same first offer for a model as a comparison of the model with each offer in their order", () => {
    const glob = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 5 });
    const model = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 5 });
    fc.assert(
      fc.property(fc.array(glob, { maxLength: 8 }), model, (globs, name) => {
        const first = globs.findIndex((each) => isModelOf(each, name));
        expect(indexOf(globs).first(name)).toBe(first === -1 ? Infinity : first);
      }),
    );
  });

  it.each([
    ["the only offer for it comes after another with the same beginning", "ark-b-2", 1],
    ["a glob comes before its name", "ark-a-1", 0],
    ["its name comes before a glob", "fal-1", 2],
    ["only a glob without a beginning matches it", "other-x", 4],
    ["no offer is for it", "other", Infinity],
    ["it is a glob, which stands for all its models", "fal-*", 3],
  ])("finds the first offer for a model when %s", (_when, model, position) => {
    const index = indexOf(["ark-a-*", "ark-b-*", "fal-1", "fal-*", "*-x", "ark-a-1"]);
    expect(index.first(model)).toBe(position);
  });

  it("finds the first offer for every model, which alone is for requests that name no model", () => {
    expect(indexOf(["a", "*-x", "*", "*"]).firstForAny()).toBe(2);
    expect(indexOf(["a", "*-x"]).firstForAny()).toBe(Infinity);
    expect(indexOf(["a"]).firstForAny()).toBe(Infinity);
  });
});

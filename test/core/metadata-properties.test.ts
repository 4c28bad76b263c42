import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { metadataOf } from "../../src/core/record/metadata.ts";

const SEED = 20_261_020;

describe("any parameters", () => {
  const name = fc.constantFrom(
    "seed",
    "ratio",
    "aspect_ratio",
    "duration",
    "seconds",
    "resolution",
    "audio",
    "sound",
    "generate_audio",
    "fps",
    "framespersecond",
    "__proto__",
    "toString",
    "input",
    "settings",
  );
  const scalar = fc.oneof(
    fc.constantFrom("5s", "16:9", "720P", "on", "off", "-1", "adaptive", "9".repeat(400)),
    fc.constantFrom(true, false, null, -1, 0, 5, 2.5, 1e308, Infinity),
    fc.string(),
    fc.double(),
  );
  const level = fc.dictionary(name, fc.oneof(scalar, fc.array(scalar)));
  const parameters = fc.dictionary(
    fc.oneof(name, fc.constantFrom("options", "parameters")),
    fc.oneof(scalar, level, fc.array(level)),
  );

  it("give values of the contract's types, or none", () => {
    fc.assert(
      fc.property(fc.oneof(parameters, fc.dictionary(fc.string(), fc.jsonValue())), (given) => {
        const metadata = metadataOf(JSON.parse(JSON.stringify(given)));
        checkTypes(metadata);
        checkTypes(metadataOf(asJson(given)));
        expect(JSON.parse(JSON.stringify(metadata))).toEqual(metadata);
      }),
      { numRuns: 3_000, seed: SEED },
    );
  });
});

function checkTypes(metadata: JsonObject): void {
  for (const [field, value] of Object.entries(metadata)) {
    expect(value).toSatisfy(TYPES[field] ?? (() => false));
  }
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  seed: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  ratio: (value) => typeof value === "string" && /^\d+:\d+$/.test(value),
  duration: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  resolution: (value) => typeof value === "string" && /^\d+[pk]$/.test(value),
  generate_audio: (value) => typeof value === "boolean",
  framespersecond: (value) => Number.isSafeInteger(value) && Number(value) > 0,
};

/** As `JSON.parse` gives it, which reads `1e999` as Infinity. */
function asJson(value: unknown): JsonObject {
  const text = JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "number" && !Number.isFinite(inner) ? "#big" : inner,
  );
  return JSON.parse(text.replaceAll('"#big"', "1e999"));
}

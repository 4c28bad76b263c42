import type { JsonObject, JsonValue } from "../json.ts";

/** Where upstreams' submit calls keep their parameters. */
const PLACES = ["input", "settings", "options", "parameters"] as const;
const TRUE: readonly JsonValue[] = [true, "on"];
const FALSE: readonly JsonValue[] = [false, "off"];

/** For each field of the wire contract: how submit calls name it, and what it must look like there. */
const FIELDS: readonly (readonly [string, readonly string[], (value: JsonValue) => JsonValue])[] = [
  ["seed", ["seed"], (value) => whole(value, 0)],
  ["ratio", ["ratio", "aspect_ratio"], (value) => matching(value, /^\d{1,5}:\d{1,5}$/)],
  ["duration", ["duration", "seconds"], (value) => whole(value, 1)],
  ["resolution", ["resolution"], (value) => matching(value, /^\d{1,5}[pk]$/i)],
  ["generate_audio", ["generate_audio", "audio", "sound"], flag],
  ["framespersecond", ["framespersecond", "fps"], (value) => whole(value, 1)],
];

/**
 * What the submitted parameters say of the output: the fallback for what the upstream does not report.
 * A value that asks for a choice (`adaptive`, -1) says nothing.
 */
export function metadataOf(parameters: JsonObject | null): JsonObject {
  if (parameters === null) return {};
  const places = [parameters, ...PLACES.map((place) => parameters[place])];
  return Object.fromEntries(
    FIELDS.flatMap(([field, names, read]) => {
      const found = places.flatMap((place) => names.map((name) => read(member(place, name))));
      const value = found.find((candidate) => candidate !== null);
      return value === undefined ? [] : [[field, value]];
    }),
  );
}

function member(place: JsonValue | undefined, name: string): JsonValue {
  if (typeof place !== "object" || place === null || Array.isArray(place)) return null;
  const value: unknown = Reflect.get(place, name);
  return isScalar(value) ? value : null;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** Also as text: `"5"`, `"5s"`. */
function whole(value: JsonValue, min: number): JsonValue {
  const text = typeof value === "string" ? /^(\d+(?:\.\d+)?)s?$/.exec(value)?.[1] : undefined;
  const number = text === undefined ? value : Number(text);
  if (typeof number !== "number" || number < min) return null;
  return Number.isSafeInteger(Math.round(number)) ? Math.round(number) : null;
}

function matching(value: JsonValue, pattern: RegExp): JsonValue {
  return typeof value === "string" && pattern.test(value) ? value.toLowerCase() : null;
}

function flag(value: JsonValue): JsonValue {
  if (TRUE.includes(value)) return true;
  return FALSE.includes(value) ? false : null;
}

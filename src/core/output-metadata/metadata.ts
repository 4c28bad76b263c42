import { isLongInteger, isObject, type JsonObject, type JsonValue } from "../json.ts";
import { ratioIn, resolutionIn } from "./pixels.ts";

/** A metadata field of the callback body, and the parameters of submit calls that set it. */
interface Field {
  readonly field: string;
  /** Names of the parameter in the submit calls of the providers, the preferred name first. */
  readonly names: readonly string[];
  /**
   * Returns the value of the metadata field for a value of the parameter. Null when the field cannot be derived, e.g.
   * because the parameter leaves the choice to the upstream (`adaptive`, -1).
   */
  readonly read: (value: JsonValue) => JsonValue;
}

const FIELDS: readonly Field[] = [
  { field: "seed", names: ["seed"], read: seedOf },
  {
    field: "ratio",
    names: ["ratio", "aspect_ratio", "size", "resolution"],
    read: (value) => fromText(value, ratioIn),
  },
  { field: "duration", names: ["duration", "seconds"], read: (value) => whole(value, 1) },
  {
    field: "resolution",
    names: ["resolution", "size", "ratio", "aspect_ratio"],
    read: (value) => fromText(value, resolutionIn),
  },
  { field: "generate_audio", names: ["generate_audio", "audio", "sound"], read: flag },
  { field: "framespersecond", names: ["framespersecond", "fps"], read: (value) => whole(value, 1) },
];

/**
 * Members of the JSON body of a submit call in which the parameters of the job may be nested, e.g. `input` when the
 * seed is `input.seed`.
 */
const PLACES = ["input", "settings", "options", "parameters"] as const;
const TRUE: readonly JsonValue[] = [true, "on"];
const FALSE: readonly JsonValue[] = [false, "off"];

/**
 * Returns output metadata (seed, ratio, duration …) derived from the parameters that were submitted to the
 * upstream. It is used for fields that the upstream does not report. A parameter that leaves the choice to the
 * upstream, e.g. the ratio `adaptive` or the seed -1, sets no field.
 */
export function metadataOf(parameters: JsonObject | null): JsonObject {
  if (parameters === null) return {};
  const places = [parameters, ...PLACES.map((place) => parameters[place])];
  return Object.fromEntries(
    FIELDS.flatMap(({ field, names, read }) => {
      const found = places.flatMap((place) => names.map((name) => read(member(place, name))));
      const value = found.find((candidate) => candidate !== null);
      return value === undefined ? [] : [[field, value]];
    }),
  );
}

function member(place: JsonValue | undefined, name: string): JsonValue {
  return isObject(place) ? (place[name] ?? null) : null;
}

/**
 * Returns the whole number nearest to a number or to a text such as `"5"` or `"5s"`. Null when the number is less than
 * `min`, and for any other value.
 */
function whole(value: JsonValue, min: number): JsonValue {
  const text = typeof value === "string" ? /^(\d+(?:\.\d+)?)s?$/.exec(value)?.[1] : undefined;
  const number = text === undefined ? value : Number(text);
  if (typeof number !== "number" || number < min) return null;
  return Number.isSafeInteger(Math.round(number)) ? Math.round(number) : null;
}

/**
 * Returns the seed from the value of a parameter. A seed that a JavaScript number cannot represent exactly is returned
 * as the string of its digits.
 */
function seedOf(value: JsonValue): JsonValue {
  return isLongInteger(value) ? value : whole(value, 0);
}

function fromText(value: JsonValue, read: (text: string) => string | null): JsonValue {
  return typeof value === "string" ? read(value) : null;
}

function flag(value: JsonValue): JsonValue {
  if (TRUE.includes(value)) return true;
  return FALSE.includes(value) ? false : null;
}

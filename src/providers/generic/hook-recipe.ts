import { bytesOf, type Bytes, fromBase64, fromHex } from "../../security/encoding.ts";
import { hmacKey, macFromBase64, verifyAnyOf } from "../../security/hmac.ts";
import { isRecent, TOLERANCE_S } from "../../security/signature.ts";
import type { Authenticity, Hook } from "../provider.ts";

/**
 * The signature of an upstream's hooks as a declaration describes it: an HMAC-SHA256 over the body and other parts of
 * the hook.
 */
export interface HookRecipe {
  /** Name of the header with the signature of a hook. */
  readonly header: string;
  /**
   * Text before the signature in an entry of the header, e.g. `v1=`. The entries are separated by commas and spaces or,
   * if the prefix itself contains a comma, only by spaces. Absent or null when the header contains nothing but the
   * signature.
   */
  readonly prefix?: string | null | undefined;
  /**
   * Name of the header with the time of the signature, in Unix seconds. Absent or null when there is no such header.
   */
  readonly timestamp_header?: string | null | undefined;
  /** Text before the time in an entry of `header`, e.g. `t=`. Absent or null when `header` contains no time. */
  readonly timestamp_prefix?: string | null | undefined;
  /** The signed text, with `{body}`, `{timestamp}`, `{path}` and `{header:NAME}` for parts of the hook. */
  readonly recipe: string;
  /** How the signature is written: `hex` (the default) or `base64`. */
  readonly encoding?: "hex" | "base64" | null | undefined;
  /**
   * How the key is written in the secret: `hex`, `base64` or `text`. The default `text` means that the secret itself is
   * the key.
   */
  readonly secret?: "text" | "base64" | "hex" | null | undefined;
  /** Largest difference in seconds between the time of the signature and the present; 300 by default. */
  readonly tolerance_s?: number | null | undefined;
}

const PART = /(\{[^{}]*\})/;
const KNOWN_PART = /^\{(?:body|timestamp|path|header:[a-z][a-z0-9-]*)\}$/i;
const MAC_BYTES = 32;
/**
 * Symbol that stands for the body of a hook among the parts of the signed text, so that the body is read only when a
 * signature must be computed.
 */
const BODY = Symbol("body");

/**
 * Returns the fault of a recipe: the member that has the fault, and the fault as the rest of a sentence. Null when
 * there is no fault.
 */
export function recipeFault(recipe: HookRecipe): readonly [keyof HookRecipe, string] | null {
  const parts = recipe.recipe.split(PART).filter((part) => part.startsWith("{"));
  const unknown = parts.find((part) => !KNOWN_PART.test(part));
  if (unknown !== undefined) {
    return [
      "recipe",
      `must not contain ${unknown}: it knows {body}, {timestamp}, {path}, {header:NAME}`,
    ];
  }
  if (!parts.includes("{body}")) {
    return [
      "recipe",
      "must contain {body}: a signature over anything else does not prove the body",
    ];
  }
  const { timestamp_header: inHeader, timestamp_prefix: inEntry } = recipe;
  if (inHeader != null && inEntry != null) {
    return ["timestamp_prefix", "must be left out with timestamp_header"];
  }
  const hasTime = inHeader != null || inEntry != null;
  if (parts.includes("{timestamp}") !== hasTime) {
    return hasTime
      ? ["recipe", "must contain {timestamp}: a time that is not signed proves nothing"]
      : ["recipe", "must not contain {timestamp} without timestamp_header or timestamp_prefix"];
  }
  if (recipe.tolerance_s != null && !hasTime) {
    return ["tolerance_s", "must be left out without a timestamp"];
  }
  return null;
}

/** Checks the signature of a hook. The result is `unsigned` when no secret is configured. */
export async function verifyRecipe(
  hook: Hook,
  recipe: HookRecipe,
  secret: string | null,
  now: number,
): Promise<Authenticity> {
  if (secret === null) return "unsigned";
  const key = keyOf(secret, recipe);
  const written = hook.headers.get(recipe.header);
  if (key === null || key.length === 0 || written === null) return "refused";
  const timestamp = timestampOf(hook, recipe, written);
  if (timestamp !== null && !isRecent(timestamp, now, recipe.tolerance_s ?? TOLERANCE_S)) {
    return "refused";
  }
  const parts = partsOf(hook, recipe, timestamp);
  if (parts === null) return "refused";
  const content = async () => {
    const body = await hook.readBody();
    return bytesOf(...parts.map((part) => (part === BODY ? body : part)));
  };
  const signatures = entriesOf(written, recipe.prefix ?? null).map((text) => macOf(text, recipe));
  const isSigned = await verifyAnyOf([await hmacKey(key)], signatures, content);
  return isSigned ? "signed" : "refused";
}

/**
 * Returns the time of the signature as text; empty when it is missing in the hook. Null when the recipe signs no time.
 */
function timestampOf({ headers }: Hook, recipe: HookRecipe, written: string): string | null {
  if (recipe.timestamp_header != null) return headers.get(recipe.timestamp_header) ?? "";
  if (recipe.timestamp_prefix == null) return null;
  return entriesOf(written, recipe.timestamp_prefix)[0] ?? "";
}

/**
 * Returns the parts of the signed text, among which `BODY` stands for the body of the hook. Null when the hook lacks a
 * header that the recipe names.
 */
function partsOf(
  hook: Hook,
  { recipe }: HookRecipe,
  timestamp: string | null,
): readonly (string | typeof BODY)[] | null {
  const parts = recipe.split(PART).map((part) => {
    if (part === "{body}") return BODY;
    if (part === "{timestamp}") return timestamp;
    if (part === "{path}") return hook.path;
    const name = /^\{header:(.+)\}$/i.exec(part)?.[1];
    return name === undefined ? part : hook.headers.get(name);
  });
  const known = parts.filter((part) => part !== null);
  return known.length === parts.length ? known : null;
}

/** Returns those entries of a header that begin with a prefix, without the prefix. */
function entriesOf(written: string, prefix: string | null): readonly string[] {
  if (prefix === null) return [written.trim()];
  const entries = written.split(prefix.includes(",") ? /\s+/ : /[,\s]+/);
  return entries.flatMap((entry) => (entry.startsWith(prefix) ? entry.slice(prefix.length) : []));
}

function macOf(text: string, { encoding }: HookRecipe): Bytes | null {
  return encoding === "base64" ? macFromBase64(text) : fromHex(text, MAC_BYTES);
}

/**
 * Returns the key that a secret contains. Null when the secret is not written in the encoding that the recipe states.
 */
function keyOf(secret: string, { secret: writing }: HookRecipe): Bytes | null {
  if (writing === "hex") return fromHex(secret, Math.floor(secret.length / 2));
  if (writing !== "base64") return bytesOf(secret);
  const text = secret.replace(/^whsec_/, "");
  return /^[A-Za-z\d+/]+={0,2}$/.test(text) && text.length % 4 === 0 ? fromBase64(text) : null;
}

import { failure, type Result, success } from "../core/result.ts";
import { isOperatorRole, OPERATOR_ROLES, type OperatorKey } from "../security/roles.ts";
import { hasBytes } from "./readers.ts";

const MIN_SECRET_BYTES = 16;
/**
 * Pattern of a role in front of a key. A role that does not exist matches too. A word with a digit does not match,
 * because it may be the beginning of a random key that contains a colon.
 */
const ROLE = /^([A-Za-z][A-Za-z_-]*):/;
const LABEL = /^([a-z0-9-]{1,32})=/;
/** Pattern of a label without a key after it, as it occurs e.g. when a variable of the shell was not set. */
const BARE_LABEL = /^[a-z0-9-]{1,32}=$/;

/**
 * Returns the keys of `OPERATOR_KEYS`. The variable has entries `[role:][label=]secret`, separated by white space.
 * For an invalid entry it returns a fault instead. The fault states the position of the entry and quotes nothing,
 * because any part of the entry may be secret.
 */
export function parseOperatorKeys(text: string): Result<readonly OperatorKey[], string> {
  const entries = text.split(/\s+/).filter((entry) => entry !== "");
  if (entries.length === 0) return failure("is required");
  const keys: OperatorKey[] = [];
  for (const [index, entry] of entries.entries()) {
    const key = keyOf(entry);
    if (!key.ok) return failure(`has ${key.error} in entry ${index + 1}`);
    const twin = keys.findIndex(({ secret }) => secret === key.value.secret);
    if (twin >= 0) return failure(`has the same key in entries ${twin + 1} and ${index + 1}`);
    keys.push(key.value);
  }
  return success(keys);
}

function keyOf(entry: string): Result<OperatorKey, string> {
  const [prefix = "", word = null] = ROLE.exec(entry) ?? [];
  if (word !== null && !isOperatorRole(word)) {
    return failure(`a role that is none of ${OPERATOR_ROLES.join(", ")}`);
  }
  const rest = entry.slice(prefix.length);
  if (rest === "") return failure("a role without a key");
  if (BARE_LABEL.test(rest)) return failure("a label without a key");
  const { label, secret } = labelledKeyOf(rest);
  if (!isLong(secret)) return failure(`a key of less than ${MIN_SECRET_BYTES} characters`);
  return success({ secret, role: word ?? "all", label });
}

/**
 * Returns label and key of an entry of `OPERATOR_KEYS`. The text before `=` is a label only if a key of full length
 * follows, because a key in base64 may itself end in `=`.
 */
function labelledKeyOf(text: string): Pick<OperatorKey, "label" | "secret"> {
  const [prefix = "", label = null] = LABEL.exec(text) ?? [];
  const secret = text.slice(prefix.length);
  return isLong(secret) ? { label, secret } : { label: null, secret: text };
}

function isLong(secret: string): boolean {
  return hasBytes(secret, MIN_SECRET_BYTES);
}

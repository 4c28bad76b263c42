import { ownerName, type SecretsOwner, type Signer, type SignerName } from "../signers.ts";
import { BODY_FAULTS } from "./body-difference.ts";

/**
 * One possible reason why a server refuses a callback, e.g. a changed header or an old timestamp. It is found by
 * comparing what the server has received with what the relay has sent.
 */
export interface Fault {
  readonly code: FaultCode;
  /** One sentence that says what is wrong with the callback. */
  readonly message: string;
  /** Advice to the operator of the server on how to remove the fault. */
  readonly cure: string;
  /** Name of the missing or changed header. */
  readonly header?: string;
  /** Value that the missing or changed header should have. */
  readonly expected?: string;
  /**
   * Number of seconds by which the difference between the timestamp and the time of the receipt exceeds the allowed
   * 300 seconds.
   */
  readonly by_s?: number;
  /** Task for which the callback was signed. */
  readonly task_id?: string;
  /**
   * Position of the first byte of the body that differs, counted from 0. `sent` and `received` each have at most 24
   * bytes of their body from this position on, as text.
   */
  readonly byte?: number;
  readonly sent?: string;
  readonly received?: string;
}

export const FAULT_CODES = [
  "missing_header",
  "malformed_header",
  "other_task",
  "changed_id",
  "timestamp_in_ms",
  "changed_timestamp",
  "changed_signature",
  "wrong_secret",
  "old_secret",
  "only_v1a",
  "too_old",
  "too_new",
  ...BODY_FAULTS,
] as const;

export type FaultCode = (typeof FAULT_CODES)[number];

/** The result of examining a callback as a server has received it. */
export interface Verdict {
  /**
   * Whether a library that verifies signatures accepts the callback:
   * - `valid`: it does if it has the right secret, at the time of the receipt.
   * - `stale`: it does not, because the valid signature is too old or too new at that time.
   * - `invalid`: it does not, with any secret.
   */
  readonly verdict: "valid" | "stale" | "invalid";
  /**
   * Secrets and keys with which a signature in the received header is valid for the received id, timestamp and
   * body.
   */
  readonly signed_by: readonly SignerName[];
  /** Says whose secret or key `signed_by` names, and whose not. Absent when the signature is valid with none. */
  readonly signed_with?: string;
  /** Account of the task. Absent for a task without an account. */
  readonly account?: string;
  /** Number of the attempt that has this timestamp. Null when no stored attempt has it. */
  readonly attempt: number | null;
  /** Age of the timestamp at the time of the receipt, in seconds. Null when the timestamp is not a number. */
  readonly age_s: number | null;
  /** Reasons why a server refuses the callback, the most serious first. Empty when there are none. */
  readonly faults: readonly Fault[];
}

type Text = readonly [message: string, cure: string];

const RAW =
  "Verify the raw bytes of the body, before any framework parses or decodes it: express.raw(), await request.text(), request.get_data(), file_get_contents('php://input').";

/**
 * Message and advice for each possible reason why a server refuses a callback. `%` stands for the part that is
 * different in each case.
 */
const TEXTS: Readonly<Record<FaultCode, Text>> = {
  missing_header: [
    "The header % is missing.",
    "Find what removes it: a proxy, a gateway, a list of forwarded headers, or code that reads it under another name.",
  ],
  malformed_header: [
    "The header % is not what the relay sends.",
    "Pass the header on unchanged, as text.",
  ],
  other_task: [
    "The callback was signed for the task %.",
    "Take headers and body from the same request, or ask about that task.",
  ],
  changed_id: [
    "webhook-id was changed after signing.",
    "Pass webhook-id on as received, also its capital and small letters: %.",
  ],
  timestamp_in_ms: [
    "webhook-timestamp is in milliseconds.",
    "Pass the header on as text: it has seconds (%).",
  ],
  changed_timestamp: [
    "webhook-timestamp was changed after signing.",
    "Verify with the header as received (%), not with the clock of the server.",
  ],
  changed_signature: [
    "webhook-signature was changed on its way: letters, +, / or = are not those that were sent.",
    "Pass the header on as text, without URL decoding, lower-casing or base64url.",
  ],
  wrong_secret: [
    "No signature of the header was made with a secret of %.",
    "Read them again with %. Test and production relays have different ones.",
  ],
  old_secret: [
    "There is no signature with the present secret of %, only with older ones.",
    "Verify with the older secret too (%): a task keeps the secrets of the time of its creation.",
  ],
  only_v1a: [
    "The header has only Ed25519 signatures (v1a).",
    "Pass the whole header on, or verify v1a with a key of /.well-known/jwks.json: most libraries know only v1.",
  ],
  too_old: [
    "The callback was signed % s ago, and libraries accept 300 s.",
    "A callback that is pasted later is always too old. If the server saw it at once, set its clock by NTP and verify before queueing.",
  ],
  too_new: [
    "The callback was signed % s in the future, and libraries accept 300 s.",
    "Set the clock of the server by NTP.",
  ],
  body_empty: ["The body is empty.", `Other code has read it before the verification. ${RAW}`],
  body_trimmed: ["The body has white space around it that was not sent.", RAW],
  body_quoted: ["The body was written as a JSON string once more.", RAW],
  body_charset: ["Characters of the body were decoded with a charset other than UTF-8.", RAW],
  body_form_decoded: ["The body was decoded as a form.", RAW],
  body_reserialised: ["The body was parsed and written again: the same JSON in other bytes.", RAW],
  body_cut: [
    "The end of the body is missing.",
    `Raise the body limit of the server or proxy. ${RAW}`,
  ],
  body_extended: ["The body has more behind its end than was sent.", RAW],
  body_of_other_task: [
    "The body is that of another task.",
    "Take headers and body from the same request.",
  ],
  body_not_json: ["The body is not JSON any more: it looks like a printed object.", RAW],
  body_changed: ["The body was changed after signing.", RAW],
};

/**
 * Returns the fault of a callback that was not signed with any of the expected secrets.
 * @param owner owner of the secrets that sign the callback.
 * @param found what has signed it instead; null when that is not known.
 */
export function wrongSecret(owner: SecretsOwner, found: string | null): Fault {
  const but = found === null ? "" : `, but with ${found}`;
  const { message } = fault("wrong_secret", `${ownerName(owner)}, which ${signs(owner)}${but}`);
  const { cure } = fault("wrong_secret", secretsRoute(owner));
  return { code: "wrong_secret", message, cure };
}

/**
 * Returns the fault of a callback that only secrets have signed which a rotation has replaced.
 * @param owner owner of the secrets that sign the callback.
 */
export function oldSecret(owner: SecretsOwner): Fault {
  const { message } = fault("old_secret", ownerName(owner));
  const { cure } = fault("old_secret", secretsRoute(owner));
  return { code: "old_secret", message, cure };
}

/** Returns which callbacks the secrets of an owner sign, as words. */
function signs({ account, endpoint }: SecretsOwner): string {
  if (endpoint !== null) return "signs the callbacks to it";
  return account === null
    ? "signs callbacks of tasks without an account"
    : "signs the callbacks of its tasks";
}

/** Returns the route that shows the secrets of an owner. */
function secretsRoute({ account, endpoint }: SecretsOwner): string {
  const ofAccount = account === null ? "" : `/accounts/${account}`;
  const ofEndpoint = endpoint === null ? "" : `/endpoints/${endpoint}`;
  return `GET /v1${ofAccount}${ofEndpoint}/signing-secrets`;
}

/**
 * Returns whose secret or key has signed a callback, and whose not: the present secret if it is among the signers.
 * @param owner owner of the secrets that sign the callback.
 */
export function signedWithText(owner: SecretsOwner, signedBy: readonly Signer[]): string {
  const names = signedBy.map(({ name }) => name);
  const secrets = names.filter(({ scheme }) => scheme === "v1");
  const [signer] = [...secrets.filter(({ age }) => age === "current"), ...secrets];
  if (signer === undefined) return "an Ed25519 key of the relay, which signs for all accounts";
  const { age, generation } = signer;
  const which =
    generation === undefined ? `the ${age} secret` : `secret no. ${generation} (${age})`;
  return `${which} of ${ownerName(owner)}, not ${otherThan(owner)}`;
}

/** Returns, as words, the secret that is most easily mistaken for that of an owner. */
function otherThan({ account, endpoint }: SecretsOwner): string {
  if (account === null)
    return endpoint === null ? "that of an account" : "that of the relay itself";
  return endpoint === null ? "a secret of the relay itself" : "that of the account";
}

/**
 * Returns the description of one reason why a server refuses a callback.
 * @param detail text that replaces the `%` in the message and in the advice.
 * @param members further members of the description, e.g. the name of the header.
 */
export function fault(
  code: FaultCode,
  detail: string,
  members: Partial<Omit<Fault, "code" | "message" | "cure">> = {},
): Fault {
  const [message, cure] = TEXTS[code];
  return {
    code,
    message: message.replace("%", () => detail),
    cure: cure.replace("%", () => detail),
    ...members,
  };
}

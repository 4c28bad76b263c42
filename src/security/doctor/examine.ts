import { SECOND_MS, toSeconds } from "../../core/time.ts";
import type { SecretsOwner, Signer } from "../signers.ts";
import { TOLERANCE_S } from "../signature.ts";
import { type BodyDifference, bodyDifference } from "./body-difference.ts";
import { type PastedHeaders, readPastedHeaders } from "./pasted-headers.ts";
import { entriesOf, repaired, validSigners } from "./signature-check.ts";
import {
  type Fault,
  fault,
  oldSecret,
  signedWithText,
  type Verdict,
  wrongSecret,
} from "./verdict.ts";

/** A callback as a server has received it. */
export interface Received {
  /** Headers of the received callback, as an object or as pasted text. */
  readonly headers: unknown;
  readonly body: string;
}

/** The callback in the form in which the relay has sent it. */
export interface Sent {
  readonly taskId: string;
  readonly body: string;
  readonly attempts: readonly { readonly number: number; readonly startedAt: number }[];
  /**
   * Returns the header `webhook-signature` that the relay has sent with the callback, for a timestamp in Unix seconds.
   */
  readonly sign: (timestamp: string) => Promise<string>;
  /** Whose secrets sign the callback. */
  readonly owner: SecretsOwner;
  /** Secrets and keys that sign the callback. */
  readonly signers: readonly Signer[];
  /**
   * Functions that return other secrets, with which somebody may have signed in their place. They are called one after
   * the other, until a secret is found.
   */
  readonly others: readonly (() => Promise<readonly OtherSigner[]>)[];
}

/** A secret that does not sign the callbacks of the task. `what` says whose it is. */
export interface OtherSigner {
  readonly what: string;
  readonly signer: Signer;
}

/**
 * The parts of a callback that its signature covers, and the signature header. Each part is either as it was received
 * or as it was sent.
 */
interface Parts {
  readonly id: string;
  readonly timestamp: string;
  readonly body: string;
  readonly signature: string;
}

const HEADERS = ["id", "timestamp", "signature"] as const;
const DIGITS = /^\d{1,13}$/;
/**
 * Number of the latest attempts whose times are tried as the signed timestamp, to find out which parts of a callback
 * were changed.
 */
const MAX_TRIED = 5;
/**
 * Largest number of characters by which a received body may be longer than the sent one, if the examination is to
 * replace received parts by sent ones. A longer body is not tried, because each trial computes a MAC of it for every
 * signature and secret.
 */
const MAX_ADDED_CHARS = 4_096;
const TASK_ID = /^msg_([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i;

/**
 * Returns what is wrong with a callback as a server has received it: whether a verifier accepts it, with which secret,
 * and what was changed on the way. To find a change, received parts are replaced by the sent ones until a signature is
 * valid.
 * @param now time of the receipt, in Unix milliseconds.
 */
export async function examine(received: Received, sent: Sent, now: number): Promise<Verdict> {
  const headers = readPastedHeaders(received.headers);
  const { id, timestamp, signature } = headers;
  const given: Parts = {
    id: id ?? "",
    timestamp: timestamp ?? "",
    signature: signature ?? "",
    body: received.body,
  };
  const signedBy = await signersFor(given, sent.signers);
  if (signedBy.length > 0) {
    const time = timeOf(given.timestamp, sent, now);
    return {
      verdict: time.faults.length === 0 ? "valid" : "stale",
      signed_by: signedBy.map(({ name }) => name),
      signed_with: signedWithText(sent.owner, signedBy),
      ...accountOf(sent),
      ...time,
      faults: [
        ...otherTask(given, sent),
        ...onlyV1a(given),
        ...onlyOld(sent, signedBy),
        ...time.faults,
      ],
    };
  }
  const signed = await closest(given, sent);
  const time = timeOf(signed?.timestamp ?? inSeconds(given.timestamp), sent, now);
  const faults = [...headerFaults(headers), ...(await changesOf(given, signed, sent))];
  const all = [...faults, ...time.faults];
  return { verdict: "invalid", signed_by: [], ...accountOf(sent), ...time, faults: all };
}

function accountOf({ owner: { account } }: Sent): Pick<Verdict, "account"> {
  return account === null ? {} : { account };
}

/**
 * Returns the number of the attempt that was sent with this timestamp (null if there is none), the age of the timestamp
 * in seconds (null if the timestamp is not a number), and a fault if the timestamp is too old or too far in the future.
 */
function timeOf(timestamp: string, { attempts }: Sent, now: number) {
  const attempt = attempts.find(({ startedAt }) => String(toSeconds(startedAt)) === timestamp);
  const ageS = DIGITS.test(timestamp) ? toSeconds(now) - Number(timestamp) : null;
  return { attempt: attempt?.number ?? null, age_s: ageS, faults: ageFaults(ageS) };
}

function signersFor(parts: Parts, signers: readonly Signer[]): Promise<readonly Signer[]> {
  return validSigners(entriesOf(parts.signature), parts, signers);
}

/**
 * Returns the message that was signed: the received message with as few parts as possible replaced by the sent ones.
 * Null when no signature is valid for any such message.
 */
async function closest(
  given: Parts,
  { taskId, body, attempts, signers }: Sent,
): Promise<Parts | null> {
  const id = `msg_${taskId}`;
  const signature = repaired(given.signature);
  const known = attempts.slice(-MAX_TRIED).map(({ startedAt }) => String(toSeconds(startedAt)));
  const timestamp = inSeconds(given.timestamp);
  const changes: readonly Partial<Parts>[] = [
    { body },
    { id },
    { timestamp },
    { signature },
    { id, body },
    { timestamp, body },
    { signature, body },
    ...known.map((each) => ({ id, body, timestamp: each })),
    { id, timestamp, body, signature },
    ...known.map((each) => ({ id, body, timestamp: each, signature })),
  ];
  const isHuge = given.body.length > body.length + MAX_ADDED_CHARS;
  const tried = new Set([textOf(given, body)]);
  for (const change of changes) {
    const parts = { ...given, ...change };
    const text = textOf(parts, body);
    if (tried.has(text) || (isHuge && parts.body !== body)) continue;
    tried.add(text);
    if ((await signersFor(parts, signers)).length > 0) return parts;
  }
  return null;
}

/**
 * Returns a text that is the same for equal messages, so that no message is checked twice. Instead of the body, which
 * may be long, the text states whether the body is the sent or the received one.
 */
function textOf({ id, timestamp, signature, body }: Parts, sentBody: string): string {
  return JSON.stringify([id, timestamp, signature, body === sentBody]);
}

function inSeconds(timestamp: string): string {
  return /^\d{13}$/.test(timestamp) ? String(Math.floor(Number(timestamp) / SECOND_MS)) : timestamp;
}

function headerFaults(headers: PastedHeaders): readonly Fault[] {
  return HEADERS.flatMap((name) => {
    const header = `webhook-${name}`;
    const value = headers[name];
    if (value === null) return [fault("missing_header", header, { header })];
    const isReadable =
      name === "signature"
        ? entriesOf(repaired(value)).length > 0
        : name === "id" || DIGITS.test(value);
    return isReadable ? [] : [fault("malformed_header", header, { header })];
  });
}

/** Returns the differences between the message that was signed and the message that was received. */
async function changesOf(
  given: Parts,
  signed: Parts | null,
  sent: Sent,
): Promise<readonly Fault[]> {
  const id = `msg_${sent.taskId}`;
  const other = signed === null ? otherTask(given, sent) : [];
  if (other.length > 0) return other;
  const truth = signed ?? { ...given, id, body: sent.body, timestamp: inSeconds(given.timestamp) };
  const body = bodyDifference(truth.body, given.body);
  const faults = [
    ...(given.id === "" || given.id === truth.id
      ? []
      : [fault("changed_id", truth.id, { header: "webhook-id", expected: truth.id })]),
    ...timestampFaults(given.timestamp, truth.timestamp),
    ...(body === null ? [] : [bodyFault(body)]),
  ];
  if (signed !== null) {
    return signed.signature === given.signature ? faults : [...faults, signatureFault()];
  }
  const hasSignature = entriesOf(given.signature).length > 0;
  return hasSignature ? [...faults, await foreignSignature(given, truth, sent)] : faults;
}

function otherTask({ id }: Parts, { taskId }: Sent): readonly Fault[] {
  const named = TASK_ID.exec(id)?.[1]?.toLowerCase() ?? taskId;
  return named === taskId ? [] : [fault("other_task", named, { task_id: named })];
}

function bodyFault({ kind, byte, sent, received }: BodyDifference): Fault {
  return fault(kind, "", { byte, sent, received });
}

function timestampFaults(given: string, signed: string): readonly Fault[] {
  if (!DIGITS.test(given) || given === signed) return [];
  const code = inSeconds(given) === signed ? "timestamp_in_ms" : "changed_timestamp";
  return [fault(code, signed, { header: "webhook-timestamp", expected: signed })];
}

/**
 * Returns why no signature in the header is valid, not even for the message as it was sent. Either the signature was
 * changed, or it was made with another secret.
 */
async function foreignSignature(given: Parts, truth: Parts, sent: Sent): Promise<Fault> {
  const meant = entriesOf((await sent.sign(truth.timestamp)).toLowerCase());
  const lowered = entriesOf(given.signature.toLowerCase());
  if (meant.some(({ base64 }) => lowered.some((entry) => entry.base64 === base64))) {
    return signatureFault();
  }
  const entries = entriesOf(given.signature);
  for (const listed of sent.others) {
    const others = await listed();
    const signers = others.map(({ signer }) => signer);
    const [found] = [
      ...(await validSigners(entries, given, signers)),
      ...(await validSigners(entries, truth, signers)),
    ];
    const other = others.find(({ signer }) => signer === found);
    if (other !== undefined) return wrongSecret(sent.owner, other.what);
  }
  return wrongSecret(sent.owner, null);
}

function signatureFault(): Fault {
  return fault("changed_signature", "", { header: "webhook-signature" });
}

function onlyV1a({ signature }: Parts): readonly Fault[] {
  const isOnly = entriesOf(signature).every(({ scheme }) => scheme === "v1a");
  return isOnly ? [fault("only_v1a", "")] : [];
}

/** Returns a fault when only secrets that a rotation has replaced have signed. */
function onlyOld({ owner }: Sent, signedBy: readonly Signer[]): readonly Fault[] {
  const secrets = signedBy.filter(({ name }) => name.scheme === "v1");
  const areOld = secrets.length > 0 && secrets.every(({ name }) => name.age === "previous");
  return areOld ? [oldSecret(owner)] : [];
}

function ageFaults(ageS: number | null): readonly Fault[] {
  if (ageS === null || Math.abs(ageS) <= TOLERANCE_S) return [];
  const seconds = Math.abs(ageS);
  return [
    fault(ageS > 0 ? "too_old" : "too_new", String(seconds), { by_s: seconds - TOLERANCE_S }),
  ];
}

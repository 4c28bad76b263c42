import { progressBody } from "../../core/record/callback-body.ts";
import { parseJson } from "../../core/json.ts";
import { SECOND_MS, toSeconds } from "../../core/time.ts";
import type { SecretsOwner, Signer } from "../signers.ts";
import { type SignedMessage, TOLERANCE_S } from "../signature.ts";
import { type BodyDifference, bodyDifference, idOf } from "./body-difference.ts";
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
  /** Returns the header `webhook-signature` with which the relay sends a message to the receiver of the task. */
  readonly sign: (message: SignedMessage) => Promise<string>;
  /** Owner of the secrets that sign the callback. */
  readonly owner: SecretsOwner;
  /** Secrets and keys that sign the callback. */
  readonly signers: readonly Signer[];
  /**
   * Functions that return other secrets, with which somebody may have signed in their place. They are called one after
   * the other, until a secret is found.
   */
  readonly others: readonly (() => Promise<readonly OtherSigner[]>)[];
}

/** The message that a server should have received: the callback of the end, or one of progress. */
interface Meant extends Sent {
  /** Value of its `webhook-id`. */
  readonly id: string;
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
const PROGRESS_ID = /^progress_[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
/** Pattern of the progress in a body, also in one that is encoded as a form or written as a JSON string. */
const STATED_PERCENT = /progress(?:\\?"|%22)\s?(?::|%3A)\s?(\d{1,3}|null)/i;
/** Values of the progress in percent, which are tried when the received body does not state it. */
const PERCENTS = [null, ...Array(101).keys()];

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
    const time = timeOf(given.timestamp, PROGRESS_ID.test(given.id) ? [] : sent.attempts, now);
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
  const meant = await meantBy(given, sent);
  const signed = await closest(given, meant);
  const time = timeOf(signed?.timestamp ?? inSeconds(given.timestamp), meant.attempts, now);
  const faults = [...headerFaults(headers), ...(await changesOf(given, signed, meant))];
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
function timeOf(timestamp: string, attempts: Sent["attempts"], now: number) {
  const attempt = attempts.find(({ startedAt }) => String(toSeconds(startedAt)) === timestamp);
  const ageS = DIGITS.test(timestamp) ? toSeconds(now) - Number(timestamp) : null;
  return { attempt: attempt?.number ?? null, age_s: ageS, faults: ageFaults(ageS) };
}

function signersFor(parts: Parts, signers: readonly Signer[]): Promise<readonly Signer[]> {
  return validSigners(entriesOf(parts.signature), parts, signers);
}

/**
 * Returns the message that was sent: the callback of the end or, when the received `webhook-id` says so, one of progress.
 * The relay does not store the latter, so its percentage is the received one, or else one for which a signature is valid.
 */
async function meantBy(given: Parts, sent: Sent): Promise<Meant> {
  if (!PROGRESS_ID.test(given.id)) return { ...sent, id: `msg_${sent.taskId}` };
  const id = given.id.toLowerCase();
  const end: { model: string; created_at: number } = JSON.parse(sent.body);
  const task = { id: sent.taskId, model: end.model, createdAt: end.created_at * SECOND_MS };
  const parts = { timestamp: inSeconds(given.timestamp), signature: repaired(given.signature) };
  const meant = (percent: number | null) => {
    return { ...sent, id, body: progressBody(task, percent), attempts: [] };
  };
  const stated = STATED_PERCENT.exec(given.body)?.[1];
  if (stated !== undefined) return meant(stated === "null" ? null : Number(stated));
  for (const percent of PERCENTS) {
    const { body } = meant(percent);
    const signers = await signersFor({ id, ...parts, body }, sent.signers);
    if (signers.length > 0) return meant(percent);
  }
  return meant(null);
}

/**
 * Returns the message that was signed: the received message with as few parts as possible replaced by the sent ones.
 * Null when no signature is valid for any such message.
 */
async function closest(
  given: Parts,
  { id, body, attempts, signers }: Meant,
): Promise<Parts | null> {
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
  meant: Meant,
): Promise<readonly Fault[]> {
  const { id, body: sentBody } = meant;
  const other = signed === null ? otherTask(given, meant) : [];
  if (other.length > 0) return other;
  const truth = signed ?? { ...given, id, body: sentBody, timestamp: inSeconds(given.timestamp) };
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
  return hasSignature ? [...faults, await foreignSignature(given, truth, meant)] : faults;
}

function otherTask({ id, body }: Parts, { taskId }: Sent): readonly Fault[] {
  // The id of a progress callback does not name its task.
  const named = PROGRESS_ID.test(id) ? idOf(parseJson(body)) : TASK_ID.exec(id)?.[1]?.toLowerCase();
  if (typeof named !== "string" || named === taskId) return [];
  return [fault("other_task", named, { task_id: named })];
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
async function foreignSignature(given: Parts, truth: Parts, sent: Meant): Promise<Fault> {
  const { id, body } = sent;
  const signature = await sent.sign({ id, timestamp: truth.timestamp, body });
  const expected = entriesOf(signature.toLowerCase());
  const lowered = entriesOf(given.signature.toLowerCase());
  if (expected.some(({ base64 }) => lowered.some((entry) => entry.base64 === base64))) {
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

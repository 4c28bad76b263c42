import { concatUint8Arrays } from "uint8array-extras";
import { hiddenTexts } from "../security/hidden-texts.ts";
import { bytesOf } from "../security/encoding.ts";
import { hideSecrets, secretRanges } from "../security/spellings.ts";
import { type Connection, secretsOf } from "../providers/provider.ts";
import type { SubmitAnswer } from "./http.ts";

/** What decides which texts in the upstream's answer to a submission are hidden. */
export interface SecretsOfCall {
  /** True when the call was sent with a key of the customer. */
  readonly hasCustomerKey: boolean;
  /** True when an account has sent the call, or the task has an account. */
  readonly isOfAccount: boolean;
  /** Token of the hook URL in the call. Null when the call has no hook URL of the relay. */
  readonly hookToken: string | null;
}

/**
 * Returns the texts that an upstream's response must not contain when it is shown to the caller and stored: for every
 * caller the customer's own key, and for an account also the keys and webhook secrets of the connection and the token of
 * the task's hook URL, with which the account could report a result itself.
 */
export function answerSecrets(
  connection: Connection,
  { hasCustomerKey, isOfAccount, hookToken }: SecretsOfCall,
): readonly string[] {
  if (!isOfAccount) return hiddenTexts(hasCustomerKey ? connection.key : null);
  return hiddenTexts(hookToken, ...secretsOf(connection));
}

/**
 * Returns a copy of an upstream's response in which `…` replaces each secret, however it is spelled. An upstream may
 * repeat parts of the call in its response: Replicate's has a member `webhook` (type `Prediction` of the npm package
 * `replicate`).
 */
export function withoutSecrets(answer: SubmitAnswer, secrets: readonly string[]): SubmitAnswer {
  const bytes = bytesWithout(secrets, answer.bytes);
  return bytes === answer.bytes ? answer : { ...answer, bytes };
}

/**
 * Returns a body in which `…` replaces each secret, however the body spells it. A body without a secret is returned
 * unchanged.
 */
export function bytesWithout(
  secrets: readonly string[],
  bytes: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  if (secrets.length === 0) return bytes;
  const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
  const shown = hideSecrets(text, secrets);
  return shown === text ? bytes : bytesOf(shown);
}

/**
 * Number of bytes at the end of an answer so far that are held back: a secret may go on in the next piece. It is several
 * times the length of a secret, of which each character may be written as an escape.
 */
const HELD_BYTES = 16 * 1024;
/** Code of the character `*`. */
const COVER = 0x2a;
/** Decodes each byte as one character, so that the places in the text are those in the bytes. */
const BYTEWISE = "latin1";

/**
 * Hides secrets in a response that is passed on piece by piece. Each byte of a secret is replaced by `*`, so that the
 * response keeps the length that its headers state.
 */
export class SecretCover {
  readonly #secrets: readonly string[];
  #held = new Uint8Array();

  constructor(secrets: readonly string[]) {
    const inBytes = secrets.map((secret) => new TextDecoder(BYTEWISE).decode(bytesOf(secret)));
    this.#secrets = [...new Set([...secrets, ...inBytes])];
  }

  /** Takes the next piece of the response. @returns the bytes that may be passed on now. */
  push(piece: Uint8Array): Uint8Array {
    const bytes = concatUint8Arrays([this.#held, piece]);
    if (this.#secrets.length > 0) {
      const text = new TextDecoder(BYTEWISE).decode(bytes);
      for (const range of secretRanges(text, this.#secrets)) bytes.fill(COVER, ...range);
    }
    const at = Math.max(0, bytes.length - HELD_BYTES);
    this.#held = bytes.slice(at);
    return bytes.subarray(0, at);
  }

  /** Returns the bytes that were held back, after the last piece. */
  end(): Uint8Array {
    return this.#held;
  }
}

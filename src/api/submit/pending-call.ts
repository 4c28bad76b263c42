import type { Env } from "../../env.ts";
import type { StoredCall } from "../../objects/call/call-plan.ts";
import type { CallReceipt, FormReceipt } from "../../objects/call/call-object.ts";
import { boundaryOf } from "../../objects/call/form-reader.ts";
import { submittedCallObject } from "../../objects/object-names.ts";
import type { PlaceRefusal } from "../../objects/queue/place-request.ts";
import { errorText, log } from "../../lib/log.ts";
import { streamOf } from "../../lib/stream.ts";
import { toBase64Url } from "../../security/encoding.ts";
import { bodyTimeout } from "../http/body.ts";
import { callObject, unavailable, unknownAnswer } from "../http/object-call.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import type { UpstreamCall } from "./upstream-call.ts";

const SUBMISSION_ID_BYTES = 16;
const NOT_STORED = "The relay could not store the call, so nothing was sent.";

/** A form that is stored with the call of a submission. */
export type StoredForm = Extract<FormReceipt, { readonly kind: "stored" }>;

/** Returns the boundary of the form of a call. @throws Problem `invalid_request` when the call has no form. */
export function requireBoundary(headers: Headers): string {
  const boundary = boundaryOf(headers.get("Content-Type") ?? "");
  if (boundary === null) throw notAForm();
  return boundary;
}

function notAForm(): Problem {
  const message = "must be multipart/form-data, with the boundary of the body";
  return invalidRequest([{ path: "/Content-Type", message }]);
}

/**
 * The call of one submission, as it is stored by its own object (objects/call) while its client does not wait for the
 * upstream's answer. Nothing is stored for a client that waits.
 */
export class PendingCall {
  /** Random id of the submission, after which the object is named. */
  readonly submissionId = toBase64Url(crypto.getRandomValues(new Uint8Array(SUBMISSION_ID_BYTES)));
  readonly #env: Env;
  #isStored = false;

  constructor(env: Env) {
    this.#env = env;
  }

  /**
   * Stores the form of the call while it arrives.
   * @throws Problem when it is not a form that the relay can read, is too large, or does not arrive in time.
   */
  async storeForm({ headers, body }: UpstreamCall, maxBytes: number): Promise<StoredForm> {
    const tooLarge = `A form may have at most ${maxBytes} bytes (MAX_ASYNC_MB).`;
    if (Number(headers.get("Content-Length")) > maxBytes) {
      throw new Problem("payload_too_large", { detail: tooLarge });
    }
    const boundary = requireBoundary(headers);
    if (body === null) throw notAForm();
    this.#isStored = true;
    const receipt = await callObject<FormReceipt>(() =>
      this.#object().storeForm(body, boundary, maxBytes),
    );
    switch (receipt.kind) {
      case "stored":
        return receipt;
      case "too_large":
        throw new Problem("payload_too_large", { detail: tooLarge });
      case "too_slow":
        throw bodyTimeout("The form has not arrived in time.");
      case "broken":
        throw invalidRequest([{ path: "", message: "must arrive whole" }]);
      case "unreadable":
        throw invalidRequest([{ path: "", message: receipt.message }]);
      default:
        throw unknownAnswer(receipt);
    }
  }

  /**
   * Stores the call, which enters the queues of its connection if it has any.
   * @param body body of the call; null when it is the form that was stored before.
   * @returns the answer of the queues when the call may not wait in them; null otherwise.
   * @throws Problem `unavailable` when it could not be stored.
   */
  async store(call: StoredCall, body: readonly Uint8Array[] | null): Promise<PlaceRefusal | null> {
    this.#isStored = true;
    const receipt = await callObject<CallReceipt>(() =>
      this.#object().storeCall(call, body && streamOf(body)),
    );
    if (receipt === false) throw unavailable(NOT_STORED);
    return receipt === true ? null : receipt;
  }

  /**
   * Lets the stored call be sent at once.
   * @returns false when it is not stored any more, because its object has not found the task in time.
   */
  async begin(): Promise<boolean> {
    this.leave();
    return await callObject<boolean>(() => this.#object().begin()).catch((error: unknown) => {
      const line = { submission: this.submissionId, error: errorText(error) };
      log({ event: "call.unreached", ...line }, "warn");
      // The object begins the call by itself.
      return true;
    });
  }

  /** Leaves the stored call to its object, which finds out by itself whether the task is registered. */
  leave(): void {
    this.#isStored = false;
  }

  /**
   * Erases what is stored of a call that was neither begun nor left to its object. If this fails, its object erases it
   * later.
   */
  async drop(): Promise<void> {
    if (!this.#isStored) return;
    this.#isStored = false;
    await callObject<true>(() => this.#object().drop()).catch(() => undefined);
  }

  #object() {
    return submittedCallObject(this.#env, this.submissionId);
  }
}

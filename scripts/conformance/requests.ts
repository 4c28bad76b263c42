import { callbackBody, type Identity, progressBody } from "../../src/core/record/callback-body.ts";
import type { UpstreamResult } from "../../src/core/record/upstream.ts";
import { fromBase64, toBase64 } from "../../src/security/encoding.ts";
import { hmacSecret } from "../../src/security/hmac.ts";
import { sign, signedHeaders } from "../../src/security/signature.ts";
import type { Scheme } from "./keys.ts";

/** A request to a receiver, genuine or forged. */
export interface SentRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Variation {
  /** Value of `webhook-id`; that of the end of the task when it is absent. */
  readonly id?: string;
  readonly body?: string;
  /** Age of the signature in seconds; negative for one from the future. */
  readonly ageS?: number;
  /** Text of `webhook-timestamp`, which is signed as it is. */
  readonly timestamp?: string;
  readonly keys?: Scheme["known"];
  /** Number of the attempt, from 1. */
  readonly attempt?: number;
}

const CREATED_BEFORE_MS = 90_000;

/** Builder of the requests of one callback. Each request begins as the relay itself would send it. */
export class RequestBuilder {
  readonly scheme: Scheme;
  readonly #taskId: string;
  readonly #nowS: number;

  /** Creates the builder. @param nowS time of the requests, in Unix seconds. */
  constructor(scheme: Scheme, taskId: string, nowS: number) {
    this.scheme = scheme;
    this.#taskId = taskId;
    this.#nowS = nowS;
  }

  /** Returns the body of the callback of a task that has ended with this status; by default `completed`. */
  body(result: UpstreamResult = COMPLETED): string {
    return callbackBody(this.#task, result, this.#nowS * 1000);
  }

  get #task(): Identity {
    const createdAt = this.#nowS * 1000 - CREATED_BEFORE_MS;
    return { id: this.#taskId, model: "seedance-1-pro", createdAt };
  }

  /** Signs a progress callback. @param percent null when the progress is not known. */
  progress(percent: number | null): Promise<SentRequest> {
    const body = progressBody(this.#task, percent);
    return this.signed({ body, id: `progress_${this.#taskId}` });
  }

  /** Signs a request, by default now and with the secret that the receiver knows. */
  async signed(variation: Variation = {}): Promise<SentRequest> {
    const { body = this.body(), ageS = 0, keys = this.scheme.known, attempt = 1 } = variation;
    const timestamp = variation.timestamp ?? String(this.#nowS - ageS);
    const message = { id: variation.id ?? `msg_${this.#taskId}`, timestamp, body };
    const status = ["processing", "failed"].find((each) => body.includes(`"${each}"`));
    const headers = {
      "content-type": "application/json",
      "x-event": `task.${status ?? "completed"}`,
      "x-task-id": this.#taskId,
      "x-timestamp": timestamp,
      "x-attempt": String(attempt),
      ...signedHeaders(message, await sign(message, keys)),
    };
    return { headers, body };
  }

  /** Signs a request with several secrets or keys, in this order. */
  async signedByAll(order: readonly Scheme["known"][]): Promise<SentRequest> {
    const requests = await Promise.all(order.map(async (keys) => this.signed({ keys })));
    const signatures = requests.map((request) => request.headers["webhook-signature"]);
    return withHeader(await this.signed(), "webhook-signature", signatures.join(" "));
  }

  /** Signs a request with HMAC and the public key in place of a secret. */
  async signedWithPublicKey(): Promise<SentRequest> {
    const publicKeys = this.scheme.known.signingKeys.map(({ x }) => toBase64(fromBase64(x)));
    const secrets = publicKeys.map(async (key) => hmacSecret(`whsec_${key}`));
    return this.signed({ keys: { callbackSecrets: await Promise.all(secrets), signingKeys: [] } });
  }
}

/** Returns the request with another value of a header; null removes the header. */
export function withHeader(request: SentRequest, name: string, value: string | null): SentRequest {
  const { [name]: _, ...others } = request.headers;
  return { ...request, headers: value === null ? others : { ...others, [name]: value } };
}

/** Returns the request with another text after the comma of its only signature. */
export function withSignature(
  request: SentRequest,
  change: (signature: string, version: string) => string,
): SentRequest {
  const [version = "", signature = ""] = (request.headers["webhook-signature"] ?? "").split(",");
  return withHeader(request, "webhook-signature", change(signature, version));
}

const COMPLETED: UpstreamResult = {
  status: "completed",
  urls: ["https://cdn.example.com/conformance.mp4"],
  metadata: { seed: 41485, ratio: "16:9", duration: 5 },
  completedAt: null,
};

import { createHash, generateKeyPairSync, sign } from "node:crypto";

/** A signing key of fal. */
export class FalKey {
  readonly #pair = generateKeyPairSync("ed25519");

  get jwk(): object {
    return this.#pair.publicKey.export({ format: "jwk" });
  }

  /** Returns the headers of a hook (https://docs.fal.ai/model-apis/model-endpoints/webhooks). */
  sign(requestId: string, userId: string, body: string): Readonly<Record<string, string>> {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const digest = createHash("sha256").update(body).digest("hex");
    const message = Buffer.from([requestId, userId, timestamp, digest].join("\n"));
    return {
      "X-Fal-Webhook-Request-Id": requestId,
      "X-Fal-Webhook-User-Id": userId,
      "X-Fal-Webhook-Timestamp": timestamp,
      "X-Fal-Webhook-Signature": sign(null, message, this.#pair.privateKey).toString("hex"),
    };
  }
}

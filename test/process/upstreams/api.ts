import { createHmac, createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** State of a job; `empty` is a success without output. */
export type JobState = "queued" | "processing" | "completed" | "failed" | "empty";

export interface Job {
  readonly id: string;
  /** The relay's task id, which some providers repeat in their hooks. */
  readonly taskId: string;
  readonly hookUrl: string;
  /** The endpoint with which the job is attached. */
  readonly endpoint: string | null;
  readonly url: string;
  readonly seed: number;
  state: JobState;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** One provider's API according to its public documentation. */
export interface UpstreamApi {
  readonly provider: string;
  /** Path of the base URL on the fake server. */
  readonly base: string;
  readonly key: string;
  /** Further settings of a connection. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Field of a submit call for the hook URL; `?` marks a query parameter. */
  readonly hookParameter: string;
  /** Field of a submit call for an id of the caller. */
  readonly idParameter?: string;
  /** Endpoint of a job; without a key, one whose hooks carry the output. By default none. */
  readonly endpoint?: (isKeyed: boolean) => string | null;
  readonly newId: (nth: number) => string;
  /** Checks the `Authorization` header of a poll; by default it must be the key as a bearer token. */
  readonly isAuthorized?: (authorization: string) => boolean;
  /** Returns the body of a hook; null when the provider sends none in this state. */
  readonly hook: (job: Job, state: JobState) => object | null;
  /** Returns the signature headers of a hook; by default none. */
  readonly sign?: (job: Job, body: string) => Readonly<Record<string, string>>;
  /** Captures the job id in the path of a poll. */
  readonly pollPaths: readonly RegExp[];
  readonly answer: (job: Job, path: string) => ApiAnswer;
}

/** The failure message of every provider that has one. */
export const REASON = "The generation was stopped.";

/** Parameters of a registration; each provider echoes some of them in its hooks. */
export const PARAMETERS = { aspect_ratio: "16:9", duration: 5, resolution: "720p" };

/** Returns the provider's name of a state; a success without output has the name of a success. */
export function named(state: JobState, names: Partial<Record<JobState, string>>): string {
  return names[state] ?? names.completed ?? state;
}

export function ends(state: JobState): boolean {
  return state === "completed" || state === "failed" || state === "empty";
}

export function field(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((found, name) => Reflect.get(Object(found), name), value);
}

export function ok(body: unknown): ApiAnswer {
  return { status: 200, body };
}

/** Unix seconds. */
export function nowS(): number {
  return Math.floor(Date.now() / 1000);
}

/** Signs like Vidu, with the `hmac-auth` of Apache APISIX (https://platform.vidu.com/docs/callback-signature). */
export function viduSignature(hookUrl: string, key: string): Readonly<Record<string, string>> {
  const date = new Date().toUTCString();
  const nonce = randomBytes(8).toString("hex");
  const { pathname } = new URL(hookUrl);
  const lines = ["POST", pathname, "", "vidu", date, `Date:${date}`, `x-request-nonce:${nonce}`];
  return {
    Date: date,
    "x-request-nonce": nonce,
    "X-HMAC-ACCESS-KEY": "vidu",
    "X-HMAC-ALGORITHM": "hmac-sha256",
    "X-HMAC-SIGNED-HEADERS": "Date;x-request-nonce",
    "X-HMAC-SIGNATURE": createHmac("sha256", key)
      .update(`${lines.join("\n")}\n`)
      .digest("base64"),
  };
}

/** A signing key of fal. */
export class FalKey {
  readonly #pair = generateKeyPairSync("ed25519");

  get jwk(): object {
    return this.#pair.publicKey.export({ format: "jwk" });
  }

  /** Returns the headers of a hook (https://docs.fal.ai/model-apis/model-endpoints/webhooks). */
  sign(requestId: string, userId: string, body: string): Readonly<Record<string, string>> {
    const timestamp = String(nowS());
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

/** Checks a JWT of the classic Kling API: HS256 with the secret key, valid now. */
export function isKlingToken(authorization: string, accessKey: string, secretKey: string): boolean {
  const [head = "", claims = "", signature] = authorization.replace(/^Bearer /, "").split(".");
  const mac = createHmac("sha256", secretKey).update(`${head}.${claims}`).digest("base64url");
  const said: unknown = JSON.parse(Buffer.from(claims, "base64url").toString() || "null");
  const [issuer, from, until] = ["iss", "nbf", "exp"].map((name) => field(said, name));
  return (
    signature === mac &&
    issuer === accessKey &&
    typeof from === "number" &&
    typeof until === "number" &&
    from <= nowS() &&
    until > nowS()
  );
}

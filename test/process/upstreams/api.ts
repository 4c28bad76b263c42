import { createHmac, createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A job as its upstream sees it. `empty`: it says success and gives no output. */
export type JobState = "queued" | "processing" | "completed" | "failed" | "empty";

export interface Job {
  readonly id: string;
  /** Our own id of the task, where the submit call has a field for it. */
  readonly taskId: string | null;
  readonly hookUrl: string;
  /** Path of the submit call, from the base URL on. */
  readonly path: string;
  readonly url: string;
  readonly seed: number;
  state: JobState;
}

/** A request as an upstream reads it; `path` from the base URL on, with the query. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string;
  readonly body: unknown;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** What a submit call has asked for, in the documented fields. */
export interface Submission {
  readonly hookUrl: unknown;
  readonly taskId?: unknown;
}

/** One provider's API, as its public documentation has it. */
export interface UpstreamApi {
  readonly provider: string;
  /** Base URL, from the root of the fake server on. */
  readonly base: string;
  readonly key: string;
  /** What a connection has to know beyond the key. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Where to submit to; without a key the hook must carry the output. */
  readonly submitPath: (isKeyed: boolean) => string;
  readonly submitBody: object;
  readonly attachEndpoint: (isKeyed: boolean) => string | null;
  readonly submission: (request: ApiRequest) => Submission;
  readonly newId: (nth: number) => string;
  readonly accepted: (job: Job) => unknown;
  /** How its customers authenticate when they submit. */
  readonly submitAuthorization: () => string;
  readonly isAuthorized: (authorization: string) => boolean;
  /** The body of a hook; null: the provider sends none in this state. */
  readonly hook: (job: Job, state: JobState) => object | null;
  readonly sign: (job: Job, body: string) => Readonly<Record<string, string>>;
  /** The id of the job that a poll is about; null: it is no poll. */
  readonly polled: (path: string) => string | null;
  readonly answer: (job: Job, path: string) => ApiAnswer;
}

export const PROMPT = { prompt: "a fox" };
/** Why a job failed, where the provider tells in words. */
export const REASON = "The generation was stopped.";

/** Everything that the submit calls ask for; no provider echoes all of it. */
export const PARAMETERS = { aspect_ratio: "16:9", duration: 5, resolution: "720p" };

/** How a provider spells a state; success without output is spelt as a success. */
export function named(state: JobState, names: Partial<Record<JobState, string>>): string {
  return names[state] ?? names.completed ?? state;
}

export function ends(state: JobState): boolean {
  return state === "completed" || state === "failed" || state === "empty";
}

/** The hooks of most providers carry no signature. */
export function unsigned(): Readonly<Record<string, string>> {
  return {};
}

export function bearerIs(key: string): (authorization: string) => boolean {
  return (authorization) => authorization === `Bearer ${key}`;
}

export function field(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((found, name) => Reflect.get(Object(found), name), value);
}

/** The part of a path that `pattern` captures. */
export function captured(path: string, pattern: RegExp): string | null {
  const part = pattern.exec(path)?.[1];
  return part === undefined ? null : decodeURIComponent(part);
}

export function ok(body: unknown): ApiAnswer {
  return { status: 200, body };
}

/** Unix seconds. */
export function nowS(): number {
  return Math.floor(Date.now() / 1000);
}

/** The `hmac-auth` of Apache APISIX, as Vidu signs (https://platform.vidu.com/docs/callback-signature). */
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

/** A key of fal's, and its public half as fal publishes it. */
export class FalKey {
  readonly #pair = generateKeyPairSync("ed25519");

  get jwk(): object {
    return this.#pair.publicKey.export({ format: "jwk" });
  }

  /** Headers of a hook (https://docs.fal.ai/model-apis/model-endpoints/webhooks). */
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

/** A token of the classic Kling API, as its customers make it. */
export function klingToken(accessKey: string, secretKey: string): string {
  const claims = { iss: accessKey, exp: nowS() + 1800, nbf: nowS() - 5 };
  const parts = [{ alg: "HS256", typ: "JWT" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  const signature = createHmac("sha256", secretKey).update(parts.join(".")).digest("base64url");
  return `Bearer ${parts.join(".")}.${signature}`;
}

/** Whether this is a JWT of the classic Kling API: HS256 under the secret key, valid now. */
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

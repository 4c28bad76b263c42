import { createHmac, createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** State of a job; `empty` is a success without output. */
export type JobState = "queued" | "processing" | "completed" | "failed" | "empty";

export interface Job {
  readonly id: string;
  /** The relay's task id, if the submit call has a field for it. */
  readonly taskId: string | null;
  readonly hookUrl: string;
  /** Path of the submit call, from the base URL on. */
  readonly path: string;
  readonly url: string;
  readonly seed: number;
  state: JobState;
}

/** A request to an upstream; `path` is relative to the base URL and includes the query. */
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

/** The documented fields of a submit call. */
export interface Submission {
  readonly hookUrl: unknown;
  readonly taskId?: unknown;
}

/** One provider's API according to its public documentation. */
export interface UpstreamApi {
  readonly provider: string;
  /** Path of the base URL on the fake server. */
  readonly base: string;
  readonly key: string;
  /** Further settings of a connection. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Path of the submit call; without a key, that of an endpoint whose hooks carry the output. */
  readonly submitPath: (isKeyed: boolean) => string;
  readonly submitBody: object;
  readonly attachEndpoint: (isKeyed: boolean) => string | null;
  readonly submission: (request: ApiRequest) => Submission;
  readonly newId: (nth: number) => string;
  readonly accepted: (job: Job) => unknown;
  /** The `Authorization` header of a submit call. */
  readonly submitAuthorization: () => string;
  readonly isAuthorized: (authorization: string) => boolean;
  /** Returns the body of a hook; null when the provider sends none in this state. */
  readonly hook: (job: Job, state: JobState) => object | null;
  readonly sign: (job: Job, body: string) => Readonly<Record<string, string>>;
  /** Returns the job id of a poll; null when the request is no poll. */
  readonly polled: (path: string) => string | null;
  readonly answer: (job: Job, path: string) => ApiAnswer;
}

export const PROMPT = { prompt: "a fox" };
/** The failure message of every provider that has one. */
export const REASON = "The generation was stopped.";

/** Parameters of the submit calls; each provider echoes some of them. */
export const PARAMETERS = { aspect_ratio: "16:9", duration: 5, resolution: "720p" };

/** Returns the provider's name of a state; a success without output has the name of a success. */
export function named(state: JobState, names: Partial<Record<JobState, string>>): string {
  return names[state] ?? names.completed ?? state;
}

export function ends(state: JobState): boolean {
  return state === "completed" || state === "failed" || state === "empty";
}

/** Signs nothing, as most providers. */
export function unsigned(): Readonly<Record<string, string>> {
  return {};
}

export function bearerIs(key: string): (authorization: string) => boolean {
  return (authorization) => authorization === `Bearer ${key}`;
}

export function field(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((found, name) => Reflect.get(Object(found), name), value);
}

/** Returns the part of a path that `pattern` captures. */
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

/** Makes a token for the classic Kling API. */
export function klingToken(accessKey: string, secretKey: string): string {
  const claims = { iss: accessKey, exp: nowS() + 1800, nbf: nowS() - 5 };
  const parts = [{ alg: "HS256", typ: "JWT" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  const signature = createHmac("sha256", secretKey).update(parts.join(".")).digest("base64url");
  return `Bearer ${parts.join(".")}.${signature}`;
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

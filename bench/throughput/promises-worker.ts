import { DurableObject, env as platformEnv } from "cloudflare:workers";

interface Bindings {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
}

/** Variables with the names, forms and defaults that they have in the relay. Only tests set the last three. */
interface Variables {
  readonly RELAY_SECRET?: string;
  readonly OPERATOR_KEYS?: string;
  readonly ALLOW_LOCAL_CALLBACKS?: string;
  readonly CALLBACK_SCHEDULE_S?: string;
  readonly CALLBACK_TIMEOUT_S?: string;
  readonly RETENTION_DAYS?: string;
}

/** A valid event. */
interface Event {
  readonly id: string;
  readonly model: string;
  readonly callbackUrl: string;
  /** Time in Unix seconds, as the next one; null when the event does not state it. */
  readonly createdAtS: number | null;
  readonly completedAtS: number | null;
  /** The output as JSON text. */
  readonly output: string;
}

/** Times in Unix milliseconds. */
interface TaskRecord {
  readonly id: string;
  readonly origin: string;
  /** Body of the callback, the same in all attempts. */
  readonly body: string;
  readonly url: string;
  readonly createdAt: number;
  readonly finishedAt: number;
  readonly attempts: readonly Attempt[];
  readonly state: "in_flight" | "due" | "delivered" | "failed";
  /** Time at which the running attempt began, the next one is due, or the last one ended. */
  readonly stateAt: number;
}

interface Answered {
  readonly outcome:
    | "delivered"
    | "redirected"
    | "rejected"
    | "timeout"
    | "unreachable"
    | "interrupted";
  readonly statusCode: number | null;
  readonly excerpt: string | null;
}

interface Attempt extends Answered {
  readonly startedAt: number;
  readonly durationMs: number;
}

/** Answer of the object to an event. */
interface Reply {
  readonly status: 200 | 202 | 409;
  readonly task: string;
}

const KEY = "task";
const WATCHDOG_MARGIN_MS = 5_000;
const AFTER_INTERRUPTION_MS = 5_000;
const MAX_BODY_BYTES = 256 * 1024;
const MAX_URL_CHARS = 2_048;
const MAX_OUTPUT_URLS = 1_000;
const MAX_OUTPUT_URL_CHARS = 8_192;
const MAX_MODEL_CHARS = 256;
const MAX_TIME_S = 99_999_999_999;
const DAY_S = 86_400;
const READ_BYTES = 4_096;
const EXCERPT_BYTES = 1_024;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** Characters that the parser of URLs removes without an error, or a user name. */
const SUSPICIOUS = /^\s|\s$|\p{Cc}|^\w+:[/\\]*[^/\\?#]*@/u;
/** An IP address, a name without a domain, or a domain without public hosts. */
const NOT_PUBLIC =
  /^[\d.]+$|:|^[^.]*$|\.(?:localhost|localdomain|local|internal|intranet|private|corp|home|lan|onion|arpa)\.?$/;
// An Ed25519 private key is any 32 bytes; these bytes before it make it PKCS #8 (RFC 8410 §7).
const PKCS8 = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

const env: Variables = platformEnv;
const encoder = new TextEncoder();
const SCHEDULE_MS = (env.CALLBACK_SCHEDULE_S ?? "0,180,600")
  .split(",")
  .map((s) => 1000 * Number(s));
const TIMEOUT_MS = 1000 * Number(env.CALLBACK_TIMEOUT_S ?? "10");
const RETENTION_MS = 1000 * DAY_S * Number(env.RETENTION_DAYS ?? "28");
const ALLOWS_LOCAL = env.ALLOW_LOCAL_CALLBACKS === "true";
const KEY_DIGEST = await crypto.subtle.digest("SHA-256", encoder.encode(env.OPERATOR_KEYS));
const HMAC = { name: "HMAC", hash: "SHA-256" };
const hmacKey = await crypto.subtle.importKey("raw", await derived("callbacks"), HMAC, false, [
  "sign",
]);
const pkcs8 = Uint8Array.of(...PKCS8, ...(await derived("ed25519")));
const ed25519Key = await crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", false, ["sign"]);

/** Durable Object of one task, whose result it takes once and whose callback it makes. */
export class TaskObject extends DurableObject {
  /** The attempt that this instance is making. */
  #running: Promise<void> | null = null;

  /** Stores the first result with the attempt that begins now; another one is refused. */
  accept(event: Event, origin: string): Reply {
    const known = this.#load();
    if (known !== undefined) {
      return { status: known.body.endsWith(endOf(event)) ? 200 : 409, task: viewOf(known) };
    }
    const now = Date.now();
    const completedAtS = event.completedAtS ?? Math.floor(now / 1000);
    const createdAtS = event.createdAtS ?? Math.min(Math.floor(now / 1000), completedAtS);
    const record: TaskRecord = {
      id: event.id,
      origin,
      body: bodyOf(event, createdAtS, completedAtS),
      url: event.callbackUrl,
      createdAt: 1000 * createdAtS,
      finishedAt: now,
      attempts: [],
      state: "in_flight",
      stateAt: now,
    };
    this.#store(record, now + TIMEOUT_MS + WATCHDOG_MARGIN_MS);
    this.#running = this.#attempt(record).finally(() => (this.#running = null));
    this.ctx.waitUntil(this.#running);
    return { status: 202, task: viewOf(record) };
  }

  /** Returns the task as JSON text; null when there is none. */
  read(): string | null {
    const record = this.#load();
    return record === undefined ? null : viewOf(record);
  }

  /** Begins the attempt that is due, finds one that a crash has interrupted, or erases the task. */
  override async alarm(): Promise<void> {
    if (this.#running !== null) return this.#running;
    const record = this.#load();
    if (record?.state === "in_flight") {
      this.#end(record, { outcome: "interrupted", statusCode: null, excerpt: null });
    } else if (record?.state === "due") {
      const now = Date.now();
      const begun: TaskRecord = { ...record, state: "in_flight", stateAt: now };
      this.#store(begun, now + TIMEOUT_MS + WATCHDOG_MARGIN_MS);
      this.#running = this.#attempt(begun).finally(() => (this.#running = null));
      await this.#running;
    } else await this.ctx.storage.deleteAll();
  }

  async #attempt(record: TaskRecord): Promise<void> {
    const { body, id, stateAt, url } = record;
    const timestamp = String(Math.floor(stateAt / 1000));
    const headers = {
      "Content-Type": "application/json",
      "User-Agent": `TaskRelay/1 (+${record.origin})`,
      "X-Event": "task.completed",
      "X-Task-Id": id,
      "X-Timestamp": timestamp,
      "X-Attempt": String(record.attempts.length + 1),
      "webhook-id": `msg_${id}`,
      "webhook-timestamp": timestamp,
      "webhook-signature": await sign(`msg_${id}.${timestamp}.${body}`),
    };
    const answered = await send(url, headers, body);
    this.#end(record, answered);
  }

  /** Stores the end of an attempt, and the alarm of the next one or of the erasure. */
  #end(record: TaskRecord, answered: Answered): void {
    const now = Date.now();
    const attempt = { startedAt: record.stateAt, durationMs: now - record.stateAt, ...answered };
    const attempts = [...record.attempts, attempt];
    const { outcome } = answered;
    const next = outcome === "delivered" ? undefined : SCHEDULE_MS[attempts.length];
    if (next !== undefined) {
      const stateAt = now + (outcome === "interrupted" ? AFTER_INTERRUPTION_MS : next);
      return this.#store({ ...record, attempts, state: "due", stateAt }, stateAt);
    }
    const state = outcome === "delivered" ? "delivered" : "failed";
    const settled: TaskRecord = { ...record, attempts, state, stateAt: now };
    this.#store(settled, now + RETENTION_MS);
    log(settled);
  }

  #load(): TaskRecord | undefined {
    return this.ctx.storage.kv.get<TaskRecord>(KEY);
  }

  /** Stores the record and its alarm. The platform commits both together, as there is no `await` between them. */
  #store(record: TaskRecord, alarmAt: number): void {
    this.ctx.storage.kv.put(KEY, record);
    void this.ctx.storage.setAlarm(alarmAt);
  }
}

// Classes that the harness binds too; nothing calls their objects.
export class AccountObject extends DurableObject {}
export class ListenersObject extends DurableObject {}
export class ConnectionObject extends DurableObject {}
export class HostObject extends DurableObject {}
export class DigestObject extends DurableObject {}
export class DeploymentObject extends DurableObject {}
export class OutputObject extends DurableObject {}
export class JobObject extends DurableObject {}
export class CallObject extends DurableObject {}
export class QueueObject extends DurableObject {}
export class OfferBookObject extends DurableObject {}

/**
 * Worker that keeps, for a task which a `completed` event creates, the promises of the relay in the most direct way
 * (`test/process/bench/promises.test.ts`). It answers `POST /v1/events` and `GET /v1/tasks/{id}`.
 */
export default {
  async fetch(request: Request, { TASKS }: Bindings): Promise<Response> {
    const { origin, pathname } = new URL(request.url);
    if (pathname === "/healthz") return new Response();
    if (!(await hasKey(request))) return problem(401, "unauthorized");
    if (request.method === "GET") {
      const task = await TASKS.getByName(pathname.slice("/v1/tasks/".length)).read();
      return task === null ? problem(404, "unknown_task") : json(task, 200);
    }
    if (!(Number(request.headers.get("Content-Length") ?? NaN) <= MAX_BODY_BYTES)) {
      return problem(413, "payload_too_large");
    }
    const event = eventOf(await jsonIn(request));
    if (typeof event === "string") return problem(400, "invalid_request", event);
    const { status, task } = await report(TASKS, event, origin);
    return status === 409 ? problem(409, "conflicting_result") : json(task, status);
  },
};

async function hasKey({ headers }: Request): Promise<boolean> {
  const [, key = ""] = /^Bearer (.+)$/i.exec(headers.get("Authorization") ?? "") ?? [];
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(key));
  return crypto.subtle.timingSafeEqual(digest, KEY_DIGEST);
}

/** Reads the body of a request as JSON; undefined when it is not JSON. */
function jsonIn(request: Request): Promise<unknown> {
  return request.json().catch(() => undefined);
}

/** Passes an event on to the object of its task. */
function report(tasks: Bindings["TASKS"], event: Event, origin: string): Promise<Reply> {
  return tasks.getByName(event.id).accept(event, origin);
}

/** Returns the event of a body; the name of a field that is wrong when there is one. */
function eventOf(body: unknown): Event | string {
  if (!isObject(body)) return "";
  const { id, status, model, callback_url: callbackUrl } = body;
  const createdAtS = body["created_at"] ?? null;
  const completedAtS = body["completed_at"] ?? null;
  if (!isId(id)) return "id";
  if (status !== "completed") return "status";
  if (!isModel(model)) return "model";
  if (!isAllowed(callbackUrl)) return "callback_url";
  if (!isTime(createdAtS, Date.now() / 1000 + DAY_S)) return "created_at";
  if (!isTime(completedAtS, MAX_TIME_S)) return "completed_at";
  const misplaced = ["account", "error"].find((name) => body[name] != null);
  if (misplaced !== undefined) return misplaced;
  const output = outputOf(body["output"]);
  if (output === null) return "output";
  return { id: id.toLowerCase(), model, callbackUrl, createdAtS, completedAtS, output };
}

/** Returns the output as JSON text; null when it is not valid. */
function outputOf(output: unknown): string | null {
  if (!isObject(output)) return null;
  const { urls } = output;
  if (!Array.isArray(urls) || urls.length === 0 || urls.length > MAX_OUTPUT_URLS) return null;
  const metadata = metadataOf(output["metadata"] ?? {});
  if (metadata === null || !urls.every(isHttpUrl)) return null;
  return `{"urls":${JSON.stringify(urls)},"metadata":${JSON.stringify(metadata)}}`;
}

/** Returns the metadata with the fields that the callback names first; null when one has another type. */
function metadataOf(metadata: unknown): object | null {
  if (!isObject(metadata)) return null;
  const { seed, ratio, duration, resolution, generate_audio, framespersecond, ...others } =
    metadata;
  if (![seed, duration, framespersecond].every((each) => each == null || Number.isInteger(each))) {
    return null;
  }
  if (![ratio, resolution].every((each) => each == null || typeof each === "string")) return null;
  if (generate_audio != null && typeof generate_audio !== "boolean") return null;
  return {
    seed: seed ?? undefined,
    ratio: ratio ?? undefined,
    duration: duration ?? undefined,
    resolution: resolution ?? undefined,
    generate_audio: generate_audio ?? undefined,
    framespersecond: framespersecond ?? undefined,
    ...others,
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is string {
  return typeof value === "string" && UUID.test(value);
}

function isModel(value: unknown): value is string {
  if (typeof value !== "string" || value === "" || value.length > MAX_MODEL_CHARS) return false;
  return value.isWellFormed();
}

function isTime(value: unknown, latest: number): value is number | null {
  if (typeof value !== "number") return value === null;
  return Number.isInteger(value) && value >= 0 && value <= latest;
}

function isHttpUrl(value: unknown): boolean {
  if (typeof value !== "string" || value.length > MAX_OUTPUT_URL_CHARS) return false;
  const protocol = URL.parse(value)?.protocol;
  return protocol === "https:" || protocol === "http:";
}

/**
 * Tells whether a callback may go to a URL: over `https:` to a public name, with `ALLOW_LOCAL_CALLBACKS` also over
 * `http:` and to this machine.
 */
function isAllowed(text: unknown): text is string {
  if (typeof text !== "string" || text.length > MAX_URL_CHARS || SUSPICIOUS.test(text))
    return false;
  const { hostname = "", protocol = "" } = URL.parse(text) ?? {};
  if (protocol !== "https:" && !(ALLOWS_LOCAL && protocol === "http:")) return false;
  return (ALLOWS_LOCAL && LOOPBACK.test(hostname)) || !NOT_PUBLIC.test(hostname);
}

function bodyOf(event: Event, createdAtS: number, completedAtS: number): string {
  const id = `"id":"${event.id}","status":"completed","model":${JSON.stringify(event.model)}`;
  return `{${id},"created_at":${createdAtS},"completed_at":${completedAtS}${endOf(event)}`;
}

/** Returns the end of the callback's body, by which a repeated result is recognised. */
function endOf({ output }: Event): string {
  return `,"output":${output}}`;
}

/** Returns the signatures of Standard Webhooks by HMAC and Ed25519. */
async function sign(message: string): Promise<string> {
  const bytes = encoder.encode(message);
  const [mac, signature] = await Promise.all([
    crypto.subtle.sign("HMAC", hmacKey, bytes),
    crypto.subtle.sign("Ed25519", ed25519Key, bytes),
  ]);
  return `v1,${base64(mac)} v1a,${base64(signature)}`;
}

function base64(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)));
}

/** Makes one attempt. The time limit covers the answer's body too. */
async function send(url: string, headers: Record<string, string>, body: string): Promise<Answered> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), TIMEOUT_MS);
  try {
    const { signal } = limit;
    const response = await fetch(url, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal,
    });
    const { status: statusCode } = response;
    const excerpt = await excerptOf(response);
    if (response.ok) return { outcome: "delivered", statusCode, excerpt };
    const outcome = statusCode >= 300 && statusCode < 400 ? "redirected" : "rejected";
    return { outcome, statusCode, excerpt };
  } catch {
    const outcome = limit.signal.aborted ? "timeout" : "unreachable";
    return { outcome, statusCode: null, excerpt: null };
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the beginning of the answer's body; null when it is empty or breaks off. */
async function excerptOf({ body }: Response): Promise<string | null> {
  if (body === null) return null;
  try {
    const reader = body.getReader({ mode: "byob" });
    const { value } = await reader.readAtLeast(READ_BYTES, new Uint8Array(READ_BYTES));
    const length = value?.length ?? 0;
    if (length === READ_BYTES) await reader.cancel();
    if (length === 0) return null;
    const options = { stream: length > EXCERPT_BYTES };
    return new TextDecoder().decode(value?.subarray(0, EXCERPT_BYTES), options);
  } catch {
    return null;
  }
}

/** Returns the task as JSON text: the members of the callback's body, and the callback with its attempts. */
function viewOf({ attempts, body, state, stateAt, url }: TaskRecord): string {
  const callback = {
    url,
    status: state === "delivered" || state === "failed" ? state : "sending",
    attempts: attempts.map(({ startedAt, durationMs, outcome, statusCode, excerpt }, index) => ({
      number: index + 1,
      series: 1,
      started_at: Math.floor(startedAt / 1000),
      duration_ms: durationMs,
      outcome,
      status_code: statusCode ?? undefined,
      response_excerpt: excerpt ?? undefined,
    })),
    next_attempt_at: state === "due" ? Math.floor(stateAt / 1000) : undefined,
  };
  return `${body.slice(0, -1)},"callback":${JSON.stringify(callback)}}`;
}

function log({ attempts, createdAt, finishedAt, id, state, stateAt }: TaskRecord): void {
  const facts = { task_id: id, status: "completed", callback: state, attempts: attempts.length };
  const times = { open_ms: finishedAt - createdAt, settling_ms: stateAt - finishedAt };
  console.log(JSON.stringify({ event: "task.settled", ...facts, ...times }));
}

function json(text: string, status: number): Response {
  return new Response(text, { status, headers: { "Content-Type": "application/json" } });
}

function problem(status: number, code: string, field?: string): Response {
  return json(JSON.stringify({ code, field }), status);
}

/** Returns the 32 bytes that the relay too derives from its secret for this use. */
async function derived(label: string): Promise<Uint8Array<ArrayBuffer>> {
  const secret = encoder.encode(env.RELAY_SECRET);
  const key = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const info = encoder.encode(`task-relay/v1/${label}`);
  const params = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return new Uint8Array(await crypto.subtle.deriveBits(params, key, 256));
}

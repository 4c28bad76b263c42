import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";

/** Path of submissions below the base URL of Ark, and of polls with the id of the job behind it. */
export const ARK_TASKS = "/contents/generations/tasks";
export const ARK_MODEL = "doubao-seedance-2-0-260128";
/** Path of calls that are answered with an image, and the model of these. */
export const ARK_IMAGES = "/images/generations";
export const ARK_IMAGE_MODEL = "doubao-seedream-4-5-251128";
const IMAGE_BYTES = 400_000;
const KEY = "process-test-ark-key";
const REPEAT_HOOK_AFTER_MS = 250;
/** Time in milliseconds after which a hook is no longer repeated. */
const GIVE_UP_HOOK_AFTER_MS = 240_000;
const JSON_TYPE = { "Content-Type": "application/json" };

/** Answers that prove that nothing was started. */
const REFUSALS = {
  refusal: {
    status: 400,
    error: { code: "InvalidParameter", message: "The request is not valid." },
  },
  busy: {
    status: 429,
    error: { code: "InflightBatchsizeExceeded", message: "Too many tasks are in flight." },
  },
};
/** Error of a job that fails. */
const JOB_FAULT = { code: "InternalServiceError", message: "The service has failed." };

/** Behaviour of the fake Ark at a submission. */
export interface Conduct {
  /**
   * `id` and `hang_up` start a job, or draw an image; the first answers with the id or the image, the second closes the
   * connection without an answer. `refusal` and `busy` start nothing, and answer with 400, and with 429 because of too
   * many jobs in flight.
   */
  readonly answer: "id" | "hang_up" | "refusal" | "busy";
  readonly answerAfterMs: number;
  /** Time from the start of the job to its end, in milliseconds. */
  readonly doneAfterMs: number;
  /** True when the job fails. Absent when it succeeds. */
  readonly isFailed?: boolean;
  /** True when a hook reports each change of the job to the URL that the submission contained. */
  readonly sendsHooks: boolean;
  /** Usage that the job states at its end. Absent when it states none. */
  readonly usage?: Readonly<Record<string, number>>;
}

/** Conduct of an upstream that answers at once, and whose job is done soon. */
export const PROMPT_CONDUCT: Conduct = {
  answer: "id",
  answerAfterMs: 0,
  doneAfterMs: 500,
  sendsHooks: true,
};

/** A submission that the fake Ark has received. */
export interface Submit {
  /** Text of its prompt. */
  readonly prompt: string;
  /** Null for a call for an image, which names none. */
  readonly hookUrl: string | null;
  /** The job that it started, or a name for the image that it was answered with; null when it was refused. */
  readonly jobId: string | null;
  /** API key with which it was sent. */
  readonly key: string;
}

/** A call that has read a job at the fake Ark. */
export interface ArkRead {
  readonly jobId: string;
  /** Time of the call, in Unix milliseconds. */
  readonly at: number;
  /** State of the job in the answer. */
  readonly state: ArkState;
}

type ArkState = "running" | "succeeded" | "failed";

interface ArkJob {
  readonly id: string;
  readonly model: string;
  readonly createdAtS: number;
  readonly hookUrl: string;
  readonly key: string;
  readonly usage?: Conduct["usage"];
  state: ArkState;
}

const ImageBody = z.object({ prompt: z.string() });
const Body = z.object({
  model: z.string(),
  callback_url: z.string(),
  content: z.tuple([z.object({ text: z.string() })]),
});

/**
 * Ark according to https://www.volcengine.com/docs/82379/1520757, on a loopback port. Its hooks are unsigned and repeat
 * nothing of the relay's. It keeps every submission, so that tests can count them.
 */
export class FakeArk extends LoopbackServer {
  readonly submits: Submit[] = [];
  /** Calls that have read a job, in their order. */
  readonly reads: ArkRead[] = [];
  /** Answers of the relay to hooks that it has refused, and hooks that it has never accepted. */
  readonly refusedHooks: string[] = [];
  /** Largest number of jobs that were in flight at the same time, by API key. */
  readonly mostInFlight = new Map<string, number>();
  readonly #inFlight = new Map<string, number>();
  readonly #keys: readonly string[];
  readonly #conductOf: (prompt: string) => Conduct;
  readonly #linkOf: (jobId: string) => string;
  readonly #jobs = new Map<string, ArkJob>();
  readonly #closing = new AbortController();
  #nextSubmit = Promise.withResolvers<void>();
  #nextEnd = Promise.withResolvers<void>();

  private constructor(
    conductOf: (prompt: string) => Conduct,
    linkOf: (jobId: string) => string,
    keys: readonly string[],
  ) {
    super((request, response) => void this.#handle(request, response));
    this.#keys = keys;
    this.#conductOf = conductOf;
    this.#linkOf = linkOf;
  }

  /**
   * Starts the server.
   * @param conductOf what it does with a submission, by the text of its prompt.
   * @param linkOf the link to the output of a job, by the id of the job.
   * @param keys API keys of its customers; by default that of `vars`.
   */
  static async start(
    conductOf: (prompt: string) => Conduct,
    linkOf: (jobId: string) => string = outputOf,
    keys: readonly string[] = [KEY],
  ): Promise<FakeArk> {
    return new FakeArk(conductOf, linkOf, keys).listen();
  }

  /** Variables of a relay whose connection `ark` leads here. */
  get vars(): Readonly<Record<string, string>> {
    return { ARK_BASE_URL: this.origin, ARK_API_KEY: KEY };
  }

  submitsOf(prompt: string): readonly Submit[] {
    return this.submits.filter((submit) => submit.prompt === prompt);
  }

  /** Returns a promise that resolves at the next submission. */
  nextSubmit(): Promise<void> {
    return this.#nextSubmit.promise;
  }

  /** Returns a promise that resolves when the next job ends, before its hook is sent. */
  nextEnd(): Promise<void> {
    return this.#nextEnd.promise;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await super[Symbol.asyncDispose]();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The relay may be killed while it is answered.
    response.on("error", () => {});
    const { method, url = "", headers } = request;
    const body = await bodyOf(request);
    if (body === null) return;
    const key = this.#keys.find((each) => headers.authorization === `Bearer ${each}`);
    if (key === undefined) return void response.writeHead(401).end();
    if (method === "POST" && url === ARK_TASKS) return this.#take(body, key, response);
    if (method === "POST" && url === ARK_IMAGES) return this.#draw(body, key, response);
    const job = this.#jobs.get(url.slice(ARK_TASKS.length + 1));
    if (method !== "GET" || job?.key !== key) return void response.writeHead(404).end();
    this.reads.push({ jobId: job.id, at: Date.now(), state: job.state });
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(this.#shown(job)));
  }

  async #take(body: string, key: string, response: ServerResponse): Promise<void> {
    const { model, callback_url: hookUrl, content } = Body.parse(JSON.parse(body));
    const [{ text: prompt }] = content;
    const conduct = this.#conductOf(prompt);
    const { usage } = conduct;
    const id = `cgt-20261126000000-${this.submits.length}`;
    if (this.#note({ prompt, hookUrl, jobId: id, key }, conduct)) {
      const createdAtS = Math.floor(Date.now() / 1000);
      const used = usage === undefined ? {} : { usage };
      const job: ArkJob = { id, model, createdAtS, hookUrl, key, state: "running", ...used };
      this.#jobs.set(id, job);
      void this.#run(job, conduct);
    }
    await this.#answer(response, conduct, { id });
  }

  /** Answers a call for an image with the image in base64. */
  async #draw(body: string, key: string, response: ServerResponse): Promise<void> {
    const { prompt } = ImageBody.parse(JSON.parse(body));
    const conduct = this.#conductOf(prompt);
    const jobId = `image-${this.submits.length}`;
    this.#note({ prompt, hookUrl: null, jobId, key }, conduct);
    const data = [{ b64_json: imageOf(prompt).toString("base64") }];
    await this.#answer(response, conduct, { model: ARK_IMAGE_MODEL, data });
  }

  /** Records a submission. Returns false when it is refused. */
  #note(submit: Submit, { answer }: Conduct): boolean {
    const isTaken = answer === "id" || answer === "hang_up";
    this.submits.push(isTaken ? submit : { ...submit, jobId: null });
    this.#nextSubmit.resolve();
    this.#nextSubmit = Promise.withResolvers();
    return isTaken;
  }

  async #answer(
    response: ServerResponse,
    { answer, answerAfterMs }: Conduct,
    body: object,
  ): Promise<void> {
    await this.#wait(answerAfterMs / 2);
    if (response.destroyed) return;
    const isHungUp = answer === "hang_up";
    const refusal = answer === "refusal" || answer === "busy" ? REFUSALS[answer] : null;
    const text = JSON.stringify(refusal === null ? body : { error: refusal.error });
    // So that a kill may come after the relay has stored an image, and before the answer has ended.
    if (!isHungUp) response.writeHead(refusal?.status ?? 200, JSON_TYPE).write(text.slice(0, -1));
    await this.#wait(answerAfterMs / 2);
    if (isHungUp) response.destroy();
    else response.end(text.slice(-1));
  }

  async #run(job: ArkJob, { doneAfterMs, sendsHooks, isFailed }: Conduct): Promise<void> {
    this.#countInFlight(job.key, 1);
    const running = sendsHooks ? this.#hook(job) : null;
    await this.#wait(doneAfterMs);
    await running;
    job.state = isFailed === true ? "failed" : "succeeded";
    this.#countInFlight(job.key, -1);
    this.#nextEnd.resolve();
    this.#nextEnd = Promise.withResolvers();
    if (sendsHooks) await this.#hook(job);
  }

  #countInFlight(key: string, change: 1 | -1): void {
    const count = (this.#inFlight.get(key) ?? 0) + change;
    this.#inFlight.set(key, count);
    this.mostInFlight.set(key, Math.max(this.mostInFlight.get(key) ?? 0, count));
  }

  /** Sends a hook with the present state of the job, until the relay answers with 200. */
  async #hook(job: ArkJob): Promise<void> {
    const body = JSON.stringify(this.#shown(job));
    const giveUpAt = Date.now() + GIVE_UP_HOOK_AFTER_MS;
    let last = "no answer";
    while (!this.#closing.signal.aborted && Date.now() < giveUpAt) {
      const answer = await fetch(job.hookUrl, { method: "POST", headers: JSON_TYPE, body })
        .then(async (response) => ({ status: response.status, text: await response.text() }))
        .catch(() => null);
      if (answer?.status === 200) return;
      if (answer !== null) last = `${answer.status} ${answer.text}`;
      if (answer !== null && answer.status !== 503) break;
      await this.#wait(REPEAT_HOOK_AFTER_MS);
    }
    if (!this.#closing.signal.aborted) this.refusedHooks.push(`${job.id}: ${last}`);
  }

  /** Returns a job in the form of hooks and of answers to polls. */
  #shown({ id, model, createdAtS, state, usage }: ArkJob): object {
    const task = { id, model, created_at: createdAtS, updated_at: Math.floor(Date.now() / 1000) };
    if (state === "running") return { ...task, status: state };
    if (state === "failed") return { ...task, status: state, error: JOB_FAULT };
    const content = { video_url: this.#linkOf(id) };
    return { ...task, status: state, content, duration: 5, usage };
  }

  /** Waits, at most until the server is closed. */
  async #wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }
}

/** Returns the image that a prompt leads to. */
export function imageOf(prompt: string): Buffer {
  const start = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
  return Buffer.concat([start, Buffer.alloc(IMAGE_BYTES, prompt)]);
}

/** Returns the URL of the output of a job. */
export function outputOf(jobId: string): string {
  return `https://cdn.example.com/${jobId}.mp4`;
}

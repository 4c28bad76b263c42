import { beforeEach, vi } from "vitest";
import { TaskRelay } from "../../client/src/index.ts";

/** An answer of the relay, a stream, a lost connection, or no answer at all. */
export type Scripted = Response | ScriptedStream | "lost" | "silent";

/**
 * A stream of server-sent events. It sends texts in turn, and waits where a number of milliseconds stands; then the
 * connection ends, is lost, or stays open without a further piece.
 */
export class ScriptedStream {
  /** Time in milliseconds at which its reader has closed it. */
  closedAtMs: number | null = null;
  readonly #pieces: readonly (string | number)[];
  readonly #end: "ends" | "is lost" | "stays open";

  constructor(end: "ends" | "is lost" | "stays open", ...pieces: readonly (string | number)[]) {
    this.#end = end;
    this.#pieces = pieces;
  }

  answer(): Response {
    const encoder = new TextEncoder();
    const left = [...this.#pieces];
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const piece = left.shift();
      if (typeof piece === "string") return controller.enqueue(encoder.encode(piece));
      if (typeof piece === "number") {
        await new Promise((resolve) => setTimeout(resolve, piece));
        return controller.enqueue(new Uint8Array());
      }
      if (this.#end === "ends") controller.close();
      if (this.#end === "is lost") controller.error(new TypeError("terminated"));
      if (this.#end === "stays open") await new Promise(() => {});
    };
    const cancel = () => {
      this.closedAtMs = Date.now();
    };
    const body = new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
}

/** Writes the event of a stream that shows a task. */
export function event(id: string, task: object): string {
  return `event: task\nid: ${id}\ndata: ${JSON.stringify(task)}\n\n`;
}

/** Requests that were sent, and the answers that they get in turn; the last answer repeats. */
class ScriptedRelay {
  readonly requests: Request[] = [];
  readonly bodies: string[] = [];
  readonly sentAtMs: number[] = [];
  readonly #answers: readonly Scripted[];

  constructor(...answers: readonly Scripted[]) {
    this.#answers = answers;
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    this.sentAtMs.push(Date.now());
    const nth = this.requests.push(request) - 1;
    this.bodies.push(await request.text());
    const scripted = this.#answers[nth] ?? this.#answers.at(-1);
    if (scripted instanceof Response) return scripted.clone();
    if (scripted instanceof ScriptedStream) return scripted.answer();
    if (scripted === "lost") throw new TypeError("fetch failed");
    return new Promise((_, reject) => {
      const { signal } = request;
      signal.addEventListener("abort", () =>
        reject(new Error("aborted", { cause: signal.reason })),
      );
    });
  };
}

/** Builds an answer with a JSON body. */
export function answer(status: number, body: object, headers: Record<string, string> = {}) {
  return new Response(JSON.stringify(body), { status, headers });
}

export function refusal(status: number, code: string, headers: Record<string, string> = {}) {
  const detail = "Planted.";
  return answer(
    status,
    { type: `https://r.test/docs/errors#${code}`, title: "", status, code, detail },
    headers,
  );
}

export const ID = "0edf0c76-03df-4fc8-941b-1cc4f8b7c465";
export const OPEN = { id: ID, status: "processing", model: "m", progress: 40 };
export const ENDED = {
  id: ID,
  status: "failed",
  model: "m",
  error: { code: "canceled", message: "…" },
};
/** Answer of an upstream that has accepted a job. */
export const ACCEPTED = { id: "job" };
export const UNAVAILABLE = refusal(503, "unavailable");

/** Returns the answer to a submission that the upstream has accepted. */
export function accepted(): Response {
  const headers = { "Relay-Task-Id": ID, "Relay-Status-Url": "https://r.test/tasks/1" };
  return answer(200, ACCEPTED, headers);
}

/** Creates a client whose relay gives these answers in turn. */
export function connect(...answers: readonly Scripted[]) {
  const http = new ScriptedRelay(...answers);
  const relay = new TaskRelay({ url: "https://r.test/", key: "planted-token", fetch: http.fetch });
  return { http, relay };
}

/** Lets all timers run, on the fake clock. @returns the value of the promise, or its error. */
export async function outcomeOf<T>(promise: Promise<T>): Promise<T | Error> {
  const settled = promise.catch((error: unknown) => {
    if (error instanceof Error) return error;
    throw error;
  });
  await vi.runAllTimersAsync();
  return settled;
}

/**
 * Gives every test of the file a fake clock that begins at 0 and advances as timers run; pauses have no
 * jitter.
 */
export function useFakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
    vi.spyOn(Math, "random").mockReturnValue(1);
    return () => {
      vi.useRealTimers();
      vi.restoreAllMocks();
    };
  });
}

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import * as z from "zod";

/** Behaviour of a callback receiver: answers 200, never answers, or answers 500. */
export type Kind = "healthy" | "hangs" | "fails";

/** Attempt that arrived at a receiver; the time is in Unix milliseconds. */
export interface Arrival {
  readonly attempt: number;
  readonly at: number;
}

const Message = z.object({
  port: z.int().optional(),
  arrivals: z.array(z.tuple([z.string(), z.int(), z.int()])),
});

/** Process of all callback receivers, and the attempts that arrived there. */
export class Receivers implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #arrivals = new Map<string, Arrival[]>();
  readonly #port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#port = port;
    child.on("message", (message) => {
      for (const [taskId, attempt, at] of Message.parse(message).arrivals) {
        this.#arrivals.set(taskId, [...this.of(taskId), { attempt, at }]);
      }
    });
  }

  static async start(): Promise<Receivers> {
    const child = fork(join(import.meta.dirname, "load-receiver.ts"));
    const [message]: unknown[] = await once(child, "message");
    const { port } = Message.parse(message);
    if (port === undefined) throw new Error("the receivers do not listen");
    return new Receivers(child, port);
  }

  url(kind: Kind, taskId: string): string {
    return `http://127.0.0.1:${this.#port}/${kind}/${taskId}`;
  }

  /** Returns the attempts of one task that arrived, in order. */
  of(taskId: string): readonly Arrival[] {
    return this.#arrivals.get(taskId) ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#child.connected) return;
    const gone = once(this.#child, "exit");
    this.#child.disconnect();
    await gone;
  }
}

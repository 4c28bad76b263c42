import { type Answer, type Call, type Caller, Fault, resultOf } from "./caller.ts";
import type { LifePlan } from "./plan.ts";
import type { Receiver } from "../harness/receiver.ts";
import type { Upstream } from "../upstreams/fake-upstream.ts";
import { field } from "../upstreams/api.ts";

/** What the lives of a round share. */
export interface World {
  readonly caller: Caller;
  readonly receiver: Receiver;
  readonly upstream: Upstream;
  readonly deadUrl: string;
  /** Nobody waits for a series to end any longer. */
  readonly isClosing: () => boolean;
}

/** What the operator knows of a task. */
export class Story {
  readonly plan: LifePlan;
  id: string;
  callbackUrl: string | null = null;
  /** `refused`: it cannot be paid, or its deadline has passed; then there is no such task. */
  state: "unknown" | "created" | "refused" | "erased" = "unknown";
  /** Results of words that were accepted, that were refused, and that the relay has shown. */
  readonly accepted = new Set<string>();
  readonly refused = new Set<string>();
  readonly shown = new Set<string>();
  /** Attempts of each accepted order to redeliver. */
  readonly orders: number[] = [];
  /** What the relay must not have said. */
  readonly faults: string[] = [];
  readonly #caller: Caller;

  constructor(plan: LifePlan, caller: Caller) {
    this.plan = plan;
    this.id = plan.id;
    this.#caller = caller;
  }

  /** As `Caller.insist`; remembers the task that the answer shows. */
  async ask(
    call: Call,
    expected: readonly number[],
    repeated: readonly number[] = [],
  ): Promise<Answer> {
    const answer = await this.#caller.insist(call, expected, repeated);
    const isProblem = answer.status >= 400;
    const result = resultOf(isProblem ? field(answer.json, "task") : answer.json);
    if (result !== null) this.shown.add(result);
    return answer;
  }

  /** Asks for something about this task; `path` is what follows its id. */
  async askTask(
    method: "GET" | "POST" | "DELETE",
    path: string,
    expected: readonly number[],
    {
      repeated = [],
      ...more
    }: Omit<Call, "method" | "path"> & { repeated?: readonly number[] } = {},
  ): Promise<Answer> {
    return this.ask({ method, path: `/v1/tasks/${this.id}${path}`, ...more }, expected, repeated);
  }
}

/** @throws Fault unless the problem has one of these codes. */
export function expectCode(answer: Answer, ...codes: readonly string[]): void {
  const code = field(answer.json, "code");
  if (typeof code !== "string" || !codes.includes(code)) throw new Fault(`answered ${answer.text}`);
}

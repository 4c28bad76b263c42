import type { Receiver } from "../../harness/receiver.ts";
import { field } from "../../upstreams/apis.ts";
import type { FakeUpstream } from "../../upstreams/fake-upstream.ts";
import { type Answer, type Call, type Caller, resultOf } from "../caller.ts";
import type { TaskPlan } from "./plan.ts";

/** Objects that the tasks of a round share. */
export interface World {
  readonly caller: Caller;
  readonly receiver: Receiver;
  readonly upstream: FakeUpstream;
  readonly closedUrl: string;
  /** Tells whether the round is ending: it starts no new task, and no longer waits for a series to end. */
  readonly isClosing: () => boolean;
}

/** The data that a history has recorded, without the methods that call the relay. */
export type RecordedTask = Pick<
  TaskHistory,
  | "plan"
  | "id"
  | "state"
  | "createdAt"
  | "endedAt"
  | "accepted"
  | "refused"
  | "shown"
  | "orders"
  | "faults"
>;

type TaskCall = Omit<Call, "method" | "path"> & { readonly repeated?: readonly number[] };

/** The operator's record of a task. */
export class TaskHistory {
  readonly plan: TaskPlan;
  id: string;
  callbackUrl: string | null = null;
  /**
   * State of the task; `refused` for lack of credits or because of its deadline: such a task does not exist.
   */
  state: "unknown" | "created" | "refused" | "erased" = "unknown";
  createdAt = 0;
  endedAt: number | null = null;
  /** Results of the endings that were accepted, of those that were refused, and of those in answers. */
  readonly accepted = new Set<string>();
  readonly refused = new Set<string>();
  readonly shown = new Set<string>();
  /** Numbers of attempts of each accepted redelivery. */
  readonly orders: number[] = [];
  readonly faults: string[] = [];
  readonly #caller: Caller;

  constructor(plan: TaskPlan, caller: Caller) {
    this.plan = plan;
    this.id = plan.id;
    this.#caller = caller;
  }

  created(): void {
    if (this.state === "created") return;
    this.state = "created";
    this.createdAt = Date.now();
  }

  accept(result: string): void {
    this.created();
    this.accepted.add(result);
    this.endedAt ??= Date.now();
  }

  /** Sends a request as `Caller.ask` does, and records the result that the answer shows. */
  async ask(
    call: Call,
    expected: readonly number[],
    repeated: readonly number[] = [],
  ): Promise<Answer> {
    const answer = await this.#caller.ask(call, expected, repeated);
    const result = resultOf(answer.status >= 400 ? field(answer.json, "task") : answer.json);
    if (result !== null) this.shown.add(result);
    return answer;
  }

  /** Sends a request to a path below that of this task. */
  async askTask(
    method: "GET" | "POST" | "DELETE",
    path: string,
    expected: readonly number[],
    { repeated = [], ...call }: TaskCall = {},
  ): Promise<Answer> {
    return this.ask({ method, path: `/v1/tasks/${this.id}${path}`, ...call }, expected, repeated);
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { completedEvent, OPERATOR_KEY, Task } from "../harness/client.ts";
import type { UpgradeLife } from "./plan.ts";

const REPEAT_AFTER_MS = 60;
const GIVE_UP_AFTER_MS = 120_000;
const DEADLINE_S = 10;
/** More at once, and each would wait for all the others. */
const WIDTH = 24;
/** What an attempt or a deadline that is due will change. */
const LATER = new Set(["series_running", "task_open"]);

/** What these tests read of a task, beyond its callback. */
export type UpgradedTask = z.infer<typeof UpgradedTask>;
export const UpgradedTask = Task.extend({
  model: z.string(),
  created_at: z.int(),
  completed_at: z.int().optional(),
  output: z.object({ urls: z.array(z.string()), metadata: z.looseObject({}) }).optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  credits: z.object({ amount: z.int(), state: z.string() }).optional(),
});
const Refusal = z.looseObject({ code: z.string().optional(), task: UpgradedTask.optional() });

export interface Answer {
  readonly status: number;
  readonly json: unknown;
  /** Whether an answer to the same request may have been lost before. */
  readonly isRepeat: boolean;
}

/** The operator, who repeats every request until the relay, of whichever release, has answered it. */
export class PatientOperator {
  lostAnswers = 0;
  readonly #url: string;
  readonly #lanes: Promise<unknown>[] = Array(WIDTH).fill(Promise.resolve());
  #requests = 0;

  constructor(relay: { readonly url: string }) {
    this.#url = relay.url;
  }

  /** @throws at an answer that is none of these; 200 is one to a request whose answer was lost. */
  async insist(
    expected: readonly number[],
    path: string,
    body: object | (() => object),
  ): Promise<Answer> {
    const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
    for (let isRepeat = false; Date.now() < giveUpAt; await sleep(REPEAT_AFTER_MS)) {
      const answer = await this.#inTurn(() =>
        this.#post(path, typeof body === "function" ? body() : body),
      );
      if (answer === null) {
        this.lostAnswers++;
        isRepeat = true;
        continue;
      }
      const { status, json } = answer;
      const isExpected = expected.includes(status) || (isRepeat && status === 200);
      if (isExpected) return { status, json, isRepeat };
      const isLater = status === 503 || LATER.has(Refusal.safeParse(json).data?.code ?? "");
      if (!isLater) throw new Error(`POST ${path}: ${status} ${JSON.stringify(json)}`);
      isRepeat ||= status === 503;
    }
    throw new Error(`POST ${path}: no answer`);
  }

  /** @returns the task's deadline in Unix milliseconds; null: the relay's own. */
  async register({
    id,
    accountId,
    credits,
    callbackUrl,
    end,
  }: UpgradeLife): Promise<number | null> {
    const isShort = end === "upstream_timeout";
    // With the time in it, a repeat is another registration; then the first one has come through.
    const expected = isShort ? [201, 409] : [201];
    let deadlineS = 0;
    const { status, isRepeat } = await this.insist(expected, "/v1/tasks", () => {
      deadlineS = Math.floor(Date.now() / 1000) + DEADLINE_S;
      return {
        id,
        model: "seedance-1-pro",
        callback_url: callbackUrl,
        ...(accountId !== null && { account: accountId }),
        ...(credits > 0 && { credits }),
        ...(isShort && { deadline_at: deadlineS }),
        metadata: { born: "early" },
      };
    });
    if (status === 409 && !isRepeat) throw new Error(`${id} was there before it was registered`);
    return isShort ? deadlineS * 1000 : null;
  }

  async report(life: UpgradeLife, status: "processing" | "completed" | "failed"): Promise<void> {
    // A deadline may have ended the task before.
    const expected = status === "processing" ? [202, 200] : [202];
    await this.insist(expected, ...eventOf(life, status));
  }

  /** The task as it stands, with which the opposite of its result is refused. */
  async contradict(life: UpgradeLife): Promise<UpgradedTask | null> {
    const opposite = life.end === "completed" ? "failed" : "completed";
    const { json } = await this.insist([409], ...eventOf(life, opposite));
    return Refusal.parse(json).task ?? null;
  }

  async cancel({ id }: UpgradeLife): Promise<void> {
    const { status, isRepeat } = await this.insist([200, 409], `/v1/tasks/${id}/cancel`, {});
    if (status === 409 && !isRepeat) throw new Error(`${id} was settled before it was canceled`);
  }

  async redeliver({ id }: UpgradeLife): Promise<void> {
    await this.insist([202], `/v1/tasks/${id}/redeliver`, { attempts: 1 });
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const lane = this.#requests++ % WIDTH;
    const done = (this.#lanes[lane] ?? Promise.resolve()).then(work);
    this.#lanes[lane] = done.catch(() => undefined);
    return done;
  }

  /** Null: no answer came. */
  async #post(path: string, body: object): Promise<Omit<Answer, "isRepeat"> | null> {
    const headers = {
      Authorization: `Bearer ${OPERATOR_KEY}`,
      "Content-Type": "application/json",
      ...(path.endsWith("/redeliver") && { "Idempotency-Key": "once" }),
    };
    try {
      const sent = { method: "POST", headers, body: JSON.stringify(body) };
      const response = await fetch(`${this.#url}${path}`, sent);
      const text = await response.text();
      return { status: response.status, json: text === "" ? null : JSON.parse(text) };
    } catch {
      return null;
    }
  }
}

/** Complete enough to create the task, where it is the first that the relay hears of it. */
function eventOf(
  { id, callbackUrl, accountId, birth }: UpgradeLife,
  status: "processing" | "completed" | "failed",
): [path: string, body: object] {
  const { output, ...head } = completedEvent(id, callbackUrl ?? "");
  const created = { callback_url: callbackUrl, account: accountId };
  const error = { code: "nsfw", message: "The upstream refused the prompt." };
  const event = {
    ...head,
    status,
    ...(birth === "event" ? created : { callback_url: null }),
    ...(status === "completed" && { output }),
    ...(status === "failed" && { error }),
  };
  return ["/v1/events", event];
}

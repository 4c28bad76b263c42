import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, expectCode, Fault } from "../caller.ts";
import type { TaskHistory, World } from "./task-history.ts";

const LOOK_EVERY_MS = 300;

/** Orders each series of the plan as soon as the one before has ended, and repeats each order. */
export async function redeliver(world: World, history: TaskHistory): Promise<void> {
  for (const [i, attempts] of history.plan.orders.entries()) {
    const order = { body: { attempts }, headers: { "Idempotency-Key": `series-${i}` } };
    const ask = () => history.askTask("POST", "/redeliver", [202, 409], order);
    if (!(await afterSeries(world, ask))) return;
    history.orders.push(attempts);
    const again = await history.askTask("POST", "/redeliver", [202], order);
    if (again.headers.get("Idempotent-Replayed") !== "true") {
      throw new Fault(`ordered twice under one key: ${again.text}`);
    }
  }
}

/** Erases the task as soon as it is settled. */
export async function erase(world: World, history: TaskHistory): Promise<void> {
  const ask = () => history.askTask("DELETE", "", [204, 409], { repeated: [404] });
  if (await afterSeries(world, ask)) history.state = "erased";
}

/** Repeats a request while a series is running. @returns false when the round closed before. */
async function afterSeries({ isClosing }: World, ask: () => Promise<Answer>): Promise<boolean> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 409) return true;
    expectCode(answer, "series_running");
    if (isClosing()) return false;
    await sleep(LOOK_EVERY_MS);
  }
}

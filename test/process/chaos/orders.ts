import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "./caller.ts";
import { expectCode, type Story, type World } from "./task-history.ts";

const LOOK_EVERY_MS = 300;

/** Orders every series of the plan, each as soon as the one before has ended, and each twice. */
export async function redeliver({ isClosing }: World, story: Story): Promise<void> {
  for (const [i, attempts] of story.plan.orders.entries()) {
    const order = { body: { attempts }, headers: { "Idempotency-Key": `series-${i}` } };
    let answer = await story.askTask("POST", "/redeliver", [202, 409], order);
    while (answer.status === 409) {
      expectCode(answer, "series_running");
      if (isClosing()) return;
      await sleep(LOOK_EVERY_MS);
      answer = await story.askTask("POST", "/redeliver", [202, 409], order);
    }
    story.orders.push(attempts);
    const again = await story.askTask("POST", "/redeliver", [202], order);
    if (again.headers.get("Idempotent-Replayed") !== "true") {
      throw new Fault(`ordered twice under one key: ${again.text}`);
    }
  }
}

/** Erases the task as soon as it is settled; from then on it is unknown. */
export async function erase({ isClosing }: World, story: Story): Promise<void> {
  const ask = () => story.askTask("DELETE", "", [204, 409], { repeated: [404] });
  let answer = await ask();
  while (answer.status === 409) {
    expectCode(answer, "series_running");
    if (isClosing()) return;
    await sleep(LOOK_EVERY_MS);
    answer = await ask();
  }
  story.state = "erased";
}

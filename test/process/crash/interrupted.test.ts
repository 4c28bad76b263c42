import { randomUUID } from "node:crypto";
import pMap from "p-map";
import { expect, it, vi } from "vitest";
import { LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";

const CALLBACKS = 200;
const PARALLEL = { concurrency: 32 };
/** Time in which the attempts of one round begin, shorter than `CALLBACK_TIMEOUT_S` (10 s). */
const ROUND_MS = 5_000;
const GIVE_UP_AFTER_MS = 60_000;
/**
 * Longest time from the crash to the next attempt: `CALLBACK_TIMEOUT_S` and 5 s until the watchdog alarm finds
 * the interruption, 5 s of wait, and 1 s for the lateness of the two alarms.
 */
const WITHIN_MS = 21_000;
const CUT_OFF_ONCE = {
  status: "delivered",
  attempts: [
    { number: 1, outcome: "interrupted" },
    { number: 2, outcome: "delivered" },
  ],
};

it("after kill -9 and a restart of the relay, each of 200 callbacks whose first attempt was cut off has its next attempt within 21 s of the kill", async () => {
  await using receiver = await Receiver.start();
  await using relay = await Workerd.start({ vars: LOCAL_VARS });
  const delaysMs: number[] = [];
  while (delaysMs.length < CALLBACKS) {
    delaysMs.push(...(await cutOff(relay, receiver, CALLBACKS - delaysMs.length)));
  }
  delaysMs.sort((a, b) => a - b);
  const [p50, p99, max = NaN] = [0.5, 0.99, 1].map((part) => delaysMs[CALLBACKS * part - 1]);
  console.log(`next attempt after the kill: p50 ${p50}, p99 ${p99}, max ${max} ms`);
  expect(max).toBeLessThanOrEqual(WITHIN_MS);
});

/**
 * Kills the relay while it makes the first attempts of up to `count` callbacks, and restarts it at once.
 * @returns for each of them the time from the kill to the arrival of the next attempt, in milliseconds.
 */
async function cutOff(relay: Workerd, receiver: Receiver, count: number): Promise<number[]> {
  const { client } = relay;
  const arrivals = () => ids.map((id) => receiver.postsAt(`/${id}`).map((post) => post.arrivedAt));
  const arrived = (attempts: number) => () => arrivals().every((own) => own.length === attempts);
  const roundEndsAt = Date.now() + ROUND_MS;
  const begin = async () => {
    if (Date.now() > roundEndsAt) return [];
    const id = randomUUID();
    const url = receiver.at(`/${id}`, { kind: "hang" }, { kind: "answer", status: 200 });
    return client.finish(url, id);
  };
  const ids = (await pMap(Array.from({ length: count }), begin, PARALLEL)).flat();
  await vi.waitUntil(arrived(1), GIVE_UP_AFTER_MS);
  const killedAt = Date.now();
  await relay.restart();
  console.log(
    `${ids.length} callbacks cut off; the relay was back after ${Date.now() - killedAt} ms`,
  );
  await vi.waitUntil(arrived(2), GIVE_UP_AFTER_MS);
  for (const { callback } of await pMap(ids, (id) => client.settled(id), PARALLEL)) {
    expect(callback).toMatchObject(CUT_OFF_ONCE);
  }
  return arrivals().map(([, secondAt = NaN]) => secondAt - killedAt);
}

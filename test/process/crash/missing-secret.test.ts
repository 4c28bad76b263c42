import { expect, it, vi } from "vitest";
import { LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { storedCallback } from "../harness/stored-record.ts";
import { Workerd } from "../harness/workerd.ts";

const TASKS = 5;
/** Longer than the minute after which a failed alarm comes again. */
const RECOVERED_WITHIN_MS = 120_000;

const VARS = { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,30,3" };
const { RELAY_SECRET: _secret, ...WITHOUT_SECRET } = VARS;

it("a relay without RELAY_SECRET makes no attempt, and settles every task by itself once it is set", async () => {
  await using receiver = await Receiver.start();
  await using relay = await Workerd.start({ vars: VARS });
  const finished = Array.from({ length: TASKS }, (_, i) => {
    const refused = { kind: "answer", status: 500 } as const;
    return relay.client.finish(receiver.at(`/${i}`, refused, { kind: "answer", status: 200 }));
  });
  const ids = await Promise.all(finished);
  const stored = () => ids.map((id) => storedCallback(`${relay.storage}/tasks`, id));
  await vi.waitUntil(() => stored().every((callback) => callback?.state.kind === "due"), 25_000);
  const before = stored();

  await relay.restart(WITHOUT_SECRET);
  const failures = () => relay.output.split('"event":"alarm.failed"').length - 1;
  await vi.waitUntil(() => failures() === TASKS, 60_000);
  expect(stored()).toEqual(before);
  expect(receiver.posts).toHaveLength(TASKS);

  await relay.restart(VARS);
  const settled = () => stored().every((callback) => callback?.state.kind === "delivered");
  await vi.waitUntil(settled, RECOVERED_WITHIN_MS);
  expect(receiver.posts.map(({ headers }) => headers["x-attempt"])).toEqual([
    ...Array<string>(TASKS).fill("1"),
    ...Array<string>(TASKS).fill("2"),
  ]);
  for (const callback of stored()) {
    expect(callback?.attempts).toMatchObject([{ outcome: "rejected" }, { outcome: "delivered" }]);
  }
});

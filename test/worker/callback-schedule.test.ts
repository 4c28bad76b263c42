import { expect, it } from "vitest";
import { callWith, invalid, post, refusal } from "./client.ts";
import { pass, START, START_S, useClock } from "./clock.ts";
import { stored, untilIdle, wake } from "./objects.ts";
import { aReceiver, status } from "./receiver.ts";
import { anArk, ARK, BINDINGS, named, submit } from "./submitted.ts";
import { aCompletion, completed, read, register, report } from "./tasks.ts";

useClock();

const HOUR = 3_600_000;
const DAY_S = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

it("a callback is sent after the waits with which its task was registered, and GET shows them", async () => {
  const received = aReceiver(status(500), status(500));
  const id = await completed({ callback_schedule_s: [0, 7] });
  const callback = { schedule_s: [0, 7], next_attempt_at: START_S + 7 };
  expect(await read(id)).toMatchObject({ callback });
  pass(7_000);
  await wake(id);
  await untilIdle(id);
  expect(await read(id)).toMatchObject({ callback: { schedule_s: [0, 7], status: "failed" } });
  expect(received).toHaveLength(2);
});

it("a receiver that is down for 20 hours gets the callback of a task with the schedule day, by the eighth attempt", async () => {
  const upAt = START + 20 * HOUR;
  const received = aReceiver(() => new Response(null, { status: Date.now() < upAt ? 503 : 204 }));
  const id = await completed({ callback_schedule_s: "day" });
  const isSending = async () => JSON.stringify(await read(id)).includes("next_attempt_at");
  while (await isSending()) {
    await wake(id, ((await stored(id)).alarm ?? NaN) - Date.now());
    await untilIdle(id);
  }
  const { callback } = await read(id);
  const startedAt = START_S + DAY_S.reduce((sum, waitS) => sum + waitS, 0);
  expect(callback).toMatchObject({ status: "delivered", schedule_s: DAY_S });
  expect(callback).toHaveProperty("attempts.7", expect.objectContaining({ started_at: startedAt }));
  expect(received).toHaveLength(8);
});

it("an event that creates a task may state the waits before its callback attempts; for an existing task they are ignored", async () => {
  aReceiver(status(500));
  const [created, known] = [crypto.randomUUID(), await register()];
  const fields = { model: "seedance", callback_url: "https://client.example.net/callbacks" };
  for (const id of [created, known]) {
    await report(aCompletion(id, { ...fields, callback_schedule_s: [0, 9] }));
    await untilIdle(id);
  }
  expect(await read(created)).toMatchObject({ callback: { schedule_s: [0, 9] } });
  expect(await read(known)).not.toHaveProperty("callback.schedule_s");
});

it.each([
  ["an empty list", [], "/callback_schedule_s"],
  ["eleven waits", Array.from({ length: 11 }, () => 0), "/callback_schedule_s"],
  ["a negative wait", [0, -1], "/callback_schedule_s/1"],
  ["a wait of more than a day", [86_401], "/callback_schedule_s/0"],
  ["a part of a second", [0.5], "/callback_schedule_s"],
  ["an unknown word", "week", "/callback_schedule_s"],
])(
  "a registration with %s as the schedule of its callback is refused",
  async (_what, value, path) => {
    const response = await post("/v1/tasks", { model: "m", callback_schedule_s: value });
    expect(await refusal(response)).toEqual(invalid(path));
  },
);

it.each([
  ["0, 60,3600", [0, 60, 3_600]],
  ["day", DAY_S],
])(
  "a submission may state the waits before callback attempts as Relay-Callback-Schedule: %s",
  async (text, waits) => {
    anArk();
    const { id, headers } = named({ "Relay-Callback-Schedule": text });
    expect((await submit({ headers })).status).toBe(200);
    expect(await read(id)).toMatchObject({ callback: { schedule_s: waits, status: "waiting" } });
  },
);

it.each(["", "0,,1", "week", "0 60", "-1"])(
  "a submission with the Relay-Callback-Schedule %j is refused, and not sent",
  async (text) => {
    const outside = anArk();
    const response = await submit(named({ "Relay-Callback-Schedule": text }));
    expect((await refusal(response)).code).toBe("invalid_request");
    expect(outside.sentTo(ARK)).toEqual([]);
  },
);

it("waits that together are longer than RETENTION_DAYS are refused, in a registration, an event and a submission", async () => {
  const outside = anArk();
  const isolate = { ...BINDINGS, RETENTION_DAYS: "1" };
  const tooLong = [0, 86_400, 1];
  const fields = { model: "m", callback_schedule_s: tooLong };
  const message = { body: fields };
  const answers = [
    await callWith(isolate, "/v1/tasks", message),
    await callWith(isolate, "/v1/events", { body: aCompletion(crypto.randomUUID(), fields) }),
    await submit({ ...named({ "Relay-Callback-Schedule": tooLong.join() }), bindings: isolate }),
  ];
  const path = "/callback_schedule_s";
  expect(await Promise.all(answers.map(refusal))).toEqual([
    invalid(path),
    invalid(path),
    invalid("/Relay-Callback-Schedule"),
  ]);
  expect(outside.sentTo(ARK)).toEqual([]);
});

import { expect, it } from "vitest";
import { pass, until, useClock } from "./clock.ts";
import {
  aConnection,
  aFinishedArk,
  attached,
  calls,
  lived,
  rowsOfConnection,
} from "./own-connection.ts";
import { stored, wake } from "./objects.ts";

useClock();

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function limited() {
  return aConnection({ polls_per_minute: 6 });
}

it("with a limit of 6 polls a minute, of which 1 is reserved for urgent polls, the second of two due polls is sent 12 s after the first", async () => {
  const outside = aFinishedArk();
  const connection = limited();
  const rows = await rowsOfConnection(connection);
  const tasks = [(await attached(connection)).task, (await attached(connection)).task];
  pass(2 * MINUTE);
  for (const { id } of tasks) await wake(id);
  expect(outside.sentTo("https://ark.")).toHaveLength(1);
  const waitMs = ((await stored(tasks[1]?.id ?? "")).alarm ?? NaN) - Date.now();
  expect(waitMs).toBe(12 * SECOND);
  await wake(tasks[1]?.id ?? "", waitMs);
  expect(outside.sentTo("https://ark.")).toHaveLength(2);
  await until(() => rows() === 2);
});

it("when the Durable Object that keeps the limit of polls per minute does not answer, a poll is sent at once", async () => {
  const outside = aFinishedArk();
  calls("takePollSlot").mockImplementation(() => new Promise<never>(() => undefined));
  await lived(limited(), 2 * MINUTE);
  expect(outside.sentTo("https://ark.")).toHaveLength(1);
});

it("through a connection without a limit of polls per minute, a poll is sent without asking the connection's Durable Object", async () => {
  aFinishedArk();
  const asked = calls("takePollSlot");
  await lived(aConnection(), 2 * MINUTE);
  expect(asked).not.toHaveBeenCalled();
});

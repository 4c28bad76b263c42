import { afterEach, expect, it, vi } from "vitest";
import { useClock } from "./clock.ts";
import { refusal } from "./client.ts";
import { loggedBy } from "./logged.ts";
import { lose, withTasks } from "./lost-calls.ts";
import { NOTHING, stored, wake } from "./objects.ts";
import { answering } from "./outside.ts";
import { anArk, ARK, BINDINGS, JOB, named, readSubmitted, submit } from "./submitted.ts";

useClock();
afterEach(() => vi.unstubAllGlobals());

/** Time in milliseconds for which a caller waits while its outcome is brought. */
const IN_FRONT_MS = 7_500;

/**
 * Returns bindings with which no outcome reaches the object of a task until the relay has waited for so long. What it does
 * after its caller has the answer begins when `goOn` is called.
 */
function awayFor(ms: number) {
  let waitedMs = 0;
  const later = Promise.withResolvers<void>();
  vi.stubGlobal("scheduler", {
    wait: async (waitMs: number) => {
      waitedMs += waitMs;
      if (waitedMs > IN_FRONT_MS) await later.promise;
    },
  });
  const bindings = withTasks({ endSubmission: (call) => (waitedMs < ms ? lose() : call()) });
  return { bindings, goOn: () => later.resolve(), waited: () => waitedMs };
}

const stateOf = async (id: string) => (await readSubmitted(id)).submission?.state;

it("when a task's Durable Object cannot be reached for two seconds, the submission's caller waits, and gets the upstream's response without the header x-should-retry", async () => {
  anArk();
  const { id, headers } = named();
  const { bindings } = awayFor(2_000);
  const response = await submit({ headers, bindings });
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([200, null]);
  expect(await stateOf(id)).toBe("accepted");
});

it("when a task's Durable Object cannot be reached for 20 seconds, the submission's caller gets the upstream's response before that, and the relay stores the outcome later", async () => {
  const outside = anArk();
  const { id, headers } = named();
  const { bindings, goOn } = awayFor(20_000);
  const lines = await loggedBy(async () => {
    const response = await submit({ headers, bindings });
    expect([response.status, await response.json()]).toEqual([200, { id: JOB }]);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(response.headers.get("Relay-Task-Id")).toBe(id);
    expect(response.headers.get("Relay-Status-Url")).toContain(`/v1/tasks/${id}?token=`);
  });
  expect(lines).toContainEqual(
    expect.objectContaining({ event: "submission.not_stored", task_id: id, job: JOB }),
  );
  expect(await stateOf(id)).toBe("sending");
  goOn();
  await expect.poll(() => stateOf(id)).toBe("accepted");
  expect(await readSubmitted(id)).toMatchObject({ upstream: { id: JOB } });
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it("when the upstream refuses a submission and the task's Durable Object cannot be reached, the caller gets the refusal, and the task is erased later", async () => {
  anArk(answering({ error: { code: "InvalidParameter" } }, 400));
  const { id, headers } = named();
  const { bindings, goOn } = awayFor(20_000);
  const response = await submit({ headers, bindings });
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([400, "false"]);
  expect(response.headers.get("Relay-Status-Url")).toBeNull();
  expect(await stateOf(id)).toBe("sending");
  goOn();
  await expect.poll(() => stored(id)).toEqual(NOTHING);
});

it("when the relay could not store the upstream's response to a submission, a repeated submission stores and returns it, and nothing is submitted twice", async () => {
  const outside = anArk();
  const { headers } = named();
  const { bindings, goOn } = awayFor(Infinity);
  expect((await submit({ headers, bindings })).headers.get("x-should-retry")).toBe("false");
  const early = await submit({ headers, bindings });
  expect(await refusal(early)).toEqual({ status: 409, code: "submission_running" });
  const again = await submit({ headers });
  expect([again.status, await again.json()]).toEqual([200, { id: JOB }]);
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(outside.sentTo(ARK)).toHaveLength(1);
  goOn();
});

it("when a task's Durable Object never learns that the submission was accepted, the outcome counts as unknown once the time for the upstream's response is over", async () => {
  const outside = anArk();
  const { id, headers } = named();
  const { bindings, goOn, waited } = awayFor(Infinity);
  expect((await submit({ headers, bindings })).status).toBe(200);
  goOn();
  await expect.poll(waited).toBe(33_500);
  await wake(id, 100_000);
  expect(await stateOf(id)).toBe("unknown");
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it("when a task has failed because the outcome of its submission was unknown, and the acceptance is stored later, a repeated submission gets 424 with the failed task", async () => {
  const outside = anArk();
  const { id, headers } = named();
  const { bindings, goOn } = awayFor(10_000);
  // No upstream can send a hook to this relay, so that nothing is awaited.
  const hookless = { ...bindings, PUBLIC_URL: "http://localhost:8787" };
  expect((await submit({ headers, bindings: hookless })).status).toBe(200);
  await wake(id, 100_000);
  expect(await readSubmitted(id)).toMatchObject({ error: { code: "submit_unknown" } });
  goOn();
  await expect.poll(() => stateOf(id)).toBe("accepted");
  const again = await submit({
    headers,
    bindings: { ...BINDINGS, PUBLIC_URL: "http://localhost:8787" },
  });
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(await again.clone().json()).toMatchObject({ task: { id, status: "failed" } });
  expect(await refusal(again)).toEqual({ status: 424, code: "submit_unknown" });
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

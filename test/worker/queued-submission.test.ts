import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { QueueObject } from "../../src/objects/queue/queue-object.ts";
import { leaveQueues, positionIn } from "../../src/objects/task/queue-calls.ts";
import { aKey, anAccount } from "./accounts.ts";
import { call } from "./client.ts";
import { until, useClock } from "./clock.ts";
import { namespaceWith } from "./lost-calls.ts";
import { restart, stored, stubOf, wake } from "./objects.ts";
import { anOutside } from "./outside.ts";
import { aReceiver } from "./receiver.ts";
import { started } from "./started.ts";
import { type Submitted, submitted } from "./submitted-tasks.ts";
import { cancel, erase, read } from "./tasks.ts";

useClock();

const OPS = "https://ops.example.com";
const MEMBERS = ["member-a", "member-b"] as const;
const [MEMBER_A, MEMBER_B] = MEMBERS;
const CALL = { isCall: true, isHookless: true, queues: MEMBERS } as const;

/** Lets the queues of both members give these positions to every submission; those at 7 wait for a place. */
function atPositions(...positions: readonly (number | null)[]) {
  const positionAt = vi.spyOn(QueueObject.prototype, "position");
  for (const position of positions) {
    const cause = position === 7 ? "no_place" : "upstream_refused";
    positionAt.mockReturnValueOnce(position === null ? null : { position, cause });
  }
}

function start({ id, submissionId }: Submitted, attempt = 1, connection: string = MEMBER_A) {
  return stubOf(id).startCall({ type: "call_started", submissionId, attempt, connection });
}

function refuse({ id, submissionId }: Submitted, refusal: "busy" | "funds" = "busy", attempt = 1) {
  const facts = { attempt, connection: MEMBER_A, statusCode: 429, refusal };
  return stubOf(id).refuseCall({ type: "call_refused", submissionId, ...facts });
}

/** Asks a member for a place for a submission. */
function ask({ id, submissionId }: Submitted, connection: string) {
  const place = { submissionId, taskId: id, account: null, via: connection, attempt: 1 };
  return env.QUEUES.getByName(connection).ask({ ...place, since: Date.now(), mayWait: true });
}

async function placesAt(connection: string) {
  return (await env.QUEUES.getByName(connection).state()).held;
}

/** Cancels a task with a place, while its queues cannot be reached; the place is not given back. */
async function cancelUnheard(): Promise<Submitted> {
  aReceiver();
  const task = await submitted(CALL);
  await ask(task, MEMBER_A);
  const left = vi.spyOn(QueueObject.prototype, "leave").mockImplementation(() => {
    throw new Error("unreachable");
  });
  await cancel(task.id);
  await until(() => left.mock.calls.length === MEMBERS.length);
  left.mockRestore();
  expect(await placesAt(MEMBER_A)).toBe(1);
  return task;
}

describe("a task whose call waits in the queues of a pool", () => {
  it("shows the best position, and another ETag to its account when only the position changes", async () => {
    const account = await anAccount();
    const { key } = await aKey(account);
    const { id } = await submitted(CALL, account);
    atPositions(7, 3, 3, 2, 3, 2);
    const first = await call(`/v1/tasks/${id}`, { key });
    expect(await first.json()).toMatchObject({
      submission: { state: "queued", position: 3, cause: "no_place" },
    });
    const headers = { "If-None-Match": first.headers.get("ETag") ?? "" };
    const moved = await call(`/v1/tasks/${id}`, { key, headers });
    expect(await moved.json()).toMatchObject({
      submission: { position: 2, cause: "upstream_refused" },
    });
    const known = { "If-None-Match": moved.headers.get("ETag") ?? "" };
    expect((await call(`/v1/tasks/${id}`, { key, headers: known })).status).toBe(304);
  });

  it("shows no position when it waits in no queue, and when the queues cannot be reached", async () => {
    const { id } = await submitted(CALL);
    atPositions(null, null);
    expect(await read(id)).not.toHaveProperty("submission.position");
    vi.spyOn(QueueObject.prototype, "position").mockImplementation(() => {
      throw new Error("unreachable");
    });
    expect(await read(id)).not.toHaveProperty("submission.position");
  });

  it("has the best position of the queues that answer in time", async () => {
    const answer = { position: 4, cause: "no_place" };
    const answers = [new Promise(() => {}), Promise.resolve(answer)];
    const position = () => answers.shift() ?? Promise.reject(new Error("unreachable"));
    const QUEUES = namespaceWith(env.QUEUES, { position });
    const bindings = await started({ ...env, QUEUES });
    expect(await Reflect.apply(positionIn, null, [bindings, [...MEMBERS, "c"], "s"])).toEqual(
      answer,
    );
  });

  it("leaves each of its queues and names the one where its job has run, also when some fail and others hang", async () => {
    const names = Array.from({ length: 10 }, (_, number) => `queue-${number}`);
    const told: unknown[] = [];
    const getByName = (name: string) => ({
      leave: (...given: readonly unknown[]) => {
        told.push([name, ...given]);
        return name === "queue-0" ? Promise.reject(new Error("lost")) : new Promise(() => {});
      },
    });
    const bindings = await started({ ...env, QUEUES: { getByName } });
    const leave = { taskId: "t", submissionId: "s", connections: names, ranAt: "queue-9" };
    const left: unknown = Reflect.apply(leaveQueues, null, [bindings, leave, 50]);
    expect(await left).toBe(false);
    expect(told).toEqual(names.map((name) => [name, "s", Infinity, name === "queue-9"]));
  });

  it("gives its places back when it is canceled", async () => {
    aReceiver();
    const task = await submitted(CALL);
    for (const member of MEMBERS) expect(await ask(task, member)).toEqual({ kind: "granted" });
    expect(await placesAt(MEMBER_B)).toBe(1);
    expect((await cancel(task.id)).status).toBe(200);
    await until(async () => (await placesAt(MEMBER_A)) + (await placesAt(MEMBER_B)) === 0);
    await until(async () => !JSON.stringify((await stored(task.id)).record).includes("stay"));
  });

  it("gives its places back by its alarm when the queues could not be reached at its end", async () => {
    const { id } = await cancelUnheard();
    await until(async () => {
      await wake(id, 5_000);
      return (await placesAt(MEMBER_A)) === 0;
    });
  });
});

it("a task that is erased leaves the queues that could not be reached at its end", async () => {
  const { id } = await cancelUnheard();
  expect((await erase(id)).status).toBe(204);
  expect(await placesAt(MEMBER_A)).toBe(0);
});

describe("a refused attempt", () => {
  it("waits again, is sent to another member, and shows the attempts to the operator", async () => {
    const task = await submitted(CALL);
    expect(await start(task)).toMatchObject({ kind: "send" });
    expect(await refuse(task)).toBe("again");
    expect(await refuse(task)).toBe("again");
    expect(await start(task)).toEqual({ kind: "gone" });
    expect(await start(task, 2, MEMBER_B)).toMatchObject({ kind: "send" });
    expect(await refuse(task)).toBe("gone");
    const attempt = { connection: MEMBER_A, status_code: 429, refusal: "busy" };
    expect(await read(task.id)).toMatchObject({
      provider: MEMBER_B,
      submission: { state: "sending", attempts: [attempt] },
    });
  });

  it("that is about the balance at the upstream alerts the operator of the member once, and not again when the call is refused for good", async () => {
    const outside = anOutside();
    outside.on(OPS, () => new Response(null, { status: 204 }));
    const task = await submitted({ ...CALL, queues: [MEMBER_A] });
    const { id, submissionId } = task;
    await restart(id, { ...env, OPERATOR_CALLBACK_URL: `${OPS}/events` });
    await start(task);
    expect(await refuse(task, "funds")).toBe("again");
    await until(() => outside.sentTo(OPS).length > 0);
    const outcome = { kind: "refused", statusCode: 429, refusal: "funds" } as const;
    await stubOf(id).endCall({ type: "submit_ended", submissionId, outcome });
    expect(await read(id)).toMatchObject({
      error: { code: "upstream_funds" },
      submission: { state: "refused" },
    });
    const events = outside.sentTo(OPS).map(({ body }) => JSON.parse(body));
    const funds = events.filter(({ type }) => type === "provider.funds");
    expect(funds).toMatchObject([{ data: { connection: MEMBER_A } }]);
  });
});

describe("the question whether a submission holds a place", () => {
  it("is answered yes while it may use the place, and no for a task that does not exist", async () => {
    const task = await submitted(CALL);
    const { id, submissionId } = task;
    const place = { submissionId, connection: MEMBER_B };
    expect(await stubOf(id).holdsPlace(place)).toBe(true);
    await start(task);
    expect(await stubOf(id).holdsPlace(place)).toBe(false);
    expect(await stubOf(id).holdsPlace({ ...place, connection: MEMBER_A })).toBe(true);
    expect(await stubOf(crypto.randomUUID()).holdsPlace(place)).toBe(false);
  });
});

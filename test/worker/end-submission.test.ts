import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { SubmitOutcome } from "../../src/core/events/event.ts";
import type { Caller } from "../../src/objects/task/caller.ts";
import { anAccount, booksOf, breakLedger } from "./accounts.ts";
import { call, ORIGIN } from "./client.ts";
import { START, START_S, until, useClock } from "./clock.ts";
import { evict, NOTHING, restart, stored, stubOf, wake } from "./objects.ts";
import { aReceiver, requestAt, status } from "./receiver.ts";
import { CALLBACK_URL, read } from "./tasks.ts";

useClock();

const OPERATOR: Caller = { kind: "operator", role: "all", key: "ops" };
const SUBMISSION_ID = "c3VibWlzc2lvbi1pZC0wMQ";
const ANSWER = { status: 200, contentType: "application/json", body: '{"id":"cgt-1"}' };
const JOB = { id: "cgt-1", endpoint: null };
const ACCEPTED = {
  kind: "accepted",
  statusCode: 200,
  job: JOB,
  isHookExpected: false,
  answer: ANSWER,
} as const;
const REFUSED = { kind: "refused", statusCode: 400, refusal: "final" } as const;
const UNKNOWN = { kind: "unknown", statusCode: 502 } as const;
const BILLING_URL = "https://billing.example.org/refunds";
const BOOKS = ["grant 10", "charge 4", "refund 4"];

interface Price {
  readonly accountId: string;
  readonly chargeId: string | null;
}

function ownedBy(id: string): Caller {
  return { kind: "account", id, role: "full", key: "key" };
}

/** Registers a task with a submission at its object. */
function begin(
  id: string,
  price: Price | null = null,
  caller = OPERATOR,
  submissionId = SUBMISSION_ID,
) {
  const { accountId = null, chargeId = null } = price ?? {};
  const credits = price === null ? null : 4;
  const fields = { parameters: null, metadata: null, deadlineAt: null };
  const account = accountId !== null && chargeId === null ? { id: accountId, generation: 1 } : null;
  return stubOf(id).apply(
    {
      type: "register",
      id,
      model: "m",
      origin: ORIGIN,
      registration: { callbackUrl: CALLBACK_URL, provider: "ark", accountId, credits, ...fields },
      job: null,
      deadlineMs: null,
      account,
      chargeId,
      submission: { id: submissionId, requestDigest: "digest", endpoint: null },
    },
    caller,
  );
}

function end(id: string, outcome: SubmitOutcome, caller = OPERATOR, submissionId = SUBMISSION_ID) {
  return stubOf(id).endSubmission({ type: "submit_ended", submissionId, outcome }, caller);
}

const RECORDED = { kind: "recorded", submission: { id: SUBMISSION_ID, state: "sending" } };

it("a task's Durable Object stores the job of an accepted submission before it answers, and answers a repeated report of the job with the same response", async () => {
  const id = crypto.randomUUID();
  expect(await begin(id)).toMatchObject(RECORDED);
  expect((await stored(id)).alarm).toBe(START + 100_000);
  const reply = await end(id, ACCEPTED);
  const upstream = { connection: "ark", job: JOB };
  const { record } = await stored(id);
  expect(record).toMatchObject({ upstream, submission: { answer: ANSWER } });
  expect(JSON.parse(reply?.json ?? "")).toMatchObject({
    upstream: { id: JOB.id },
    submission: { state: "accepted", started_at: START_S, answered_at: START_S, status_code: 200 },
  });
  expect(await end(id, ACCEPTED)).toEqual(reply);
  expect((await stored(id)).record).toEqual(record);
});

it("a repeated submission gets the upstream's stored response, even after the task's Durable Object was evicted from memory", async () => {
  const id = crypto.randomUUID();
  await begin(id);
  await end(id, ACCEPTED);
  await evict(id);
  expect(await begin(id)).toMatchObject({
    kind: "repeated",
    submission: { id: SUBMISSION_ID, state: "accepted", answer: ANSWER },
  });
});

it("while a task waits for the upstream's answer to its submission, another submission with the same task id is refused with submission_running", async () => {
  const id = crypto.randomUUID();
  await begin(id);
  const again = await begin(id, null, OPERATOR, "c3VibWlzc2lvbi1pZC0wMg");
  expect(again).toMatchObject({ kind: "refused", refusal: { code: "submission_running" } });
});

it("when the upstream refuses a submission without a price, the task is erased, and its id can be used again", async () => {
  const id = crypto.randomUUID();
  await begin(id);
  expect(await end(id, REFUSED)).toBeNull();
  expect(await stored(id)).toEqual(NOTHING);
  expect(await begin(id)).toMatchObject(RECORDED);
});

it("when the upstream refuses a submission with a price, the price is refunded and the task erased, and the same submission later is charged again", async () => {
  const received = aReceiver();
  const accountId = await anAccount(10);
  const id = crypto.randomUUID();
  expect(await begin(id, { accountId, chargeId: crypto.randomUUID() })).toMatchObject(RECORDED);
  expect(await end(id, REFUSED)).toBeNull();
  expect(await stored(id)).toEqual(NOTHING);
  expect(await booksOf(accountId)).toEqual(BOOKS);
  expect(await end(id, REFUSED)).toBeNull();
  await begin(id, { accountId, chargeId: crypto.randomUUID() });
  expect(await booksOf(accountId)).toEqual([...BOOKS, "charge 4"]);
  expect(received).toEqual([]);
});

it("when the upstream refuses a submission and the ledger does not confirm the refund, GET of the task gets 404, and the task is erased once the refund is booked", async () => {
  const accountId = await anAccount(10);
  const id = crypto.randomUUID();
  const price = { accountId, chargeId: crypto.randomUUID() };
  await begin(id, price);
  const heal = await breakLedger(accountId);
  expect(await end(id, REFUSED)).toBeNull();
  expect((await call(`/v1/tasks/${id}`)).status).toBe(404);
  expect(await begin(id, price)).toEqual({ kind: "refused", refusal: { code: "charging" } });
  expect((await stored(id)).alarm).toBe(START + 5_000);
  heal();
  await evict(id);
  await wake(id, 5_000);
  expect(await stored(id)).toEqual(NOTHING);
  expect(await booksOf(accountId)).toEqual(BOOKS);
});

it("SETTLEMENT_URL gets the refund of a refused submission under a webhook-id that contains the submission's id, because the task's id can be used again", async () => {
  const received = aReceiver(status(200));
  const bindings = { ...env, SETTLEMENT_URL: BILLING_URL };
  const accountId = await anAccount();
  const id = crypto.randomUUID();
  await restart(id, bindings);
  await begin(id, { accountId, chargeId: null });
  expect(await end(id, REFUSED)).toBeNull();
  expect(await stored(id)).toEqual(NOTHING);
  const { url, headers, body } = requestAt(received, 0);
  expect([url, headers["webhook-id"]]).toEqual([BILLING_URL, `refund_${id}.${SUBMISSION_ID}`]);
  const order = { task_id: id, account: accountId, credits: 4, reason: "submit_refused" };
  expect(JSON.parse(body)).toEqual(order);
});

it("a submission that its account cannot pay is refused, and nothing is stored or sent", async () => {
  const accountId = await anAccount(3);
  const id = crypto.randomUUID();
  const refusal = { code: "insufficient_credits", balance: 3, price: 4 };
  const applied = await begin(id, { accountId, chargeId: crypto.randomUUID() });
  expect(applied).toEqual({ kind: "refused", refusal });
  expect(await stored(id)).toEqual(NOTHING);
});

it("when the account's ledger does not confirm the charge of a submission, the submission is not sent, and a charge that is booked later is refunded", async () => {
  const accountId = await anAccount(10);
  const id = crypto.randomUUID();
  const heal = await breakLedger(accountId);
  const applied = await begin(id, { accountId, chargeId: crypto.randomUUID() });
  expect(applied).toEqual({ kind: "refused", refusal: { code: "charging" } });
  expect((await stored(id)).record).toMatchObject({ submission: { state: { kind: "unsent" } } });
  heal();
  await wake(id, 5_000);
  expect(await stored(id)).toEqual(NOTHING);
  expect(await booksOf(accountId)).toEqual(BOOKS);
});

it("an account can submit a task, and another account cannot submit one under the same id", async () => {
  const [accountId, other] = [await anAccount(10), await anAccount(10)];
  const id = crypto.randomUUID();
  const price = { accountId, chargeId: crypto.randomUUID() };
  expect(await begin(id, price, ownedBy(accountId))).toMatchObject(RECORDED);
  const again = await begin(id, price, ownedBy(accountId));
  expect(again).toMatchObject({ kind: "refused", refusal: { code: "submission_running" } });
  const foreign = { accountId: other, chargeId: crypto.randomUUID() };
  const refused = { kind: "refused", refusal: { code: "unknown_task" } };
  expect(await begin(id, foreign, ownedBy(other))).toEqual(refused);
  const reply = await end(id, ACCEPTED, ownedBy(accountId));
  expect(JSON.parse(reply?.json ?? "")).not.toHaveProperty("upstream");
  expect(await booksOf(other)).toEqual(["grant 10"]);
});

it("a submission with an unknown outcome leaves its task open, and after an hour the task's alarm makes it fail with submit_unknown", async () => {
  const received = aReceiver();
  const id = crypto.randomUUID();
  await begin(id);
  const reply = await end(id, UNKNOWN);
  expect(JSON.parse(reply?.json ?? "")).toMatchObject({
    status: "pending",
    submission: { state: "unknown", status_code: 502 },
  });
  await wake(id, 100_000);
  expect((await stored(id)).alarm).toBe(START + 3_600_000);
  await wake(id, 3_500_000);
  await until(() => received.length === 1);
  expect(await read(id)).toMatchObject({ status: "failed", error: { code: "submit_unknown" } });
});

it("a report of a submission's outcome changes nothing when the task has another submission or does not exist", async () => {
  const id = crypto.randomUUID();
  expect(await end(id, ACCEPTED)).toBeNull();
  expect(await stored(id)).toEqual(NOTHING);
  await begin(id);
  const before = await stored(id);
  expect(await end(id, REFUSED, OPERATOR, "c3VibWlzc2lvbi1pZC0wMg")).toBeNull();
  expect(await stored(id)).toEqual(before);
});

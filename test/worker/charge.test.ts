import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { aCharged, anAccount, balanceOf, booksOf, entriesOf, grant, priced } from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import {
  aCompletion,
  aFailure,
  atRest,
  call,
  NOTHING,
  post,
  ProblemBody,
  read,
  refusal,
  stored,
  taskOf,
  useClock,
} from "./support.ts";

useClock();

const Priced = ProblemBody.extend({ balance: z.int(), price: z.int() });

describe("a task that costs credits", () => {
  it("is answered by 201 once they are charged, and shows them", async () => {
    const account = await anAccount(10);
    const body = priced(account, 4);
    const response = await post("/v1/tasks", body);
    expect(response.status).toBe(201);
    expect(response.headers.get("Location")).toBe(`/v1/tasks/${body.id}`);
    const task = await taskOf(response);
    expect(task).toMatchObject({
      status: "pending",
      account,
      credits: { amount: 4, state: "charged" },
    });
    expect(await read(body.id)).toEqual(task);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });

  it("is charged once, however often the same is asked, also when it is over", async () => {
    aReceiver();
    const account = await anAccount(10);
    const body = priced(account, 4);
    const first = await (await post("/v1/tasks", body)).text();
    const again = await post("/v1/tasks", body);
    expect([again.status, await again.text()]).toEqual([200, first]);
    await post("/v1/events", aCompletion(body.id));
    expect((await post("/v1/tasks", body)).status).toBe(200);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });

  it("is charged once when thirty ask for the same at once", async () => {
    const account = await anAccount(1000);
    const body = priced(account, 4);
    const asked = Array.from({ length: 30 }, () => post("/v1/tasks", body));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 200)).toHaveLength(29);
    expect(await booksOf(account)).toEqual(["grant 1000", "charge 4"]);
  });

  it("is not charged again under its id at another price, nor without one: 409", async () => {
    const account = await anAccount(10);
    const body = priced(account, 4);
    await post("/v1/tasks", body);
    for (const credits of [5, null]) {
      const response = await post("/v1/tasks", { ...body, credits });
      expect(await refusal(response)).toEqual({ status: 409, code: "task_exists" });
    }
    expect(await balanceOf(account)).toBe(6);
  });

  it("is named by an Idempotency-Key as well: 200, or 422 for another body", async () => {
    const account = await anAccount(10);
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const body = { model: "m", account, credits: 4 };
    const first = await post("/v1/tasks", body, { headers });
    expect(first.status).toBe(201);
    const again = await post("/v1/tasks", body, { headers });
    expect([again.status, await again.json()]).toEqual([200, await first.json()]);
    expect(again.headers.get("Idempotent-Replayed")).toBe("true");
    const other = await post("/v1/tasks", { ...body, credits: 5 }, { headers });
    expect(await refusal(other)).toEqual({ status: 422, code: "idempotency_key_reused" });
    expect(await balanceOf(account)).toBe(6);
  });

  it("may cost all that the account has", async () => {
    const account = await anAccount(2 ** 52);
    await aCharged(account, 2 ** 52);
    expect(await balanceOf(account)).toBe(0);
  });

  it("keeps its charge when it completes", async () => {
    aReceiver();
    const account = await anAccount(10);
    const id = await aCharged(account, 4);
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    expect(await read(id)).toMatchObject({
      status: "completed",
      callback: { status: "delivered" },
      credits: { amount: 4, state: "charged" },
    });
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });

  it("pays anew when it is created under its old id after an erasure", async () => {
    aReceiver();
    const account = await anAccount(10);
    const body = priced(account, 4);
    for (const status of [201, 201]) {
      expect((await post("/v1/tasks", body)).status).toBe(status);
      await post("/v1/events", aFailure(body.id));
      await atRest(body.id);
      expect((await call(`/v1/tasks/${body.id}`, { method: "DELETE" })).status).toBe(204);
    }
    expect((await post("/v1/tasks", body)).status).toBe(201);
    expect(await booksOf(account)).toEqual([
      "grant 10",
      "charge 4",
      "refund 4",
      "charge 4",
      "refund 4",
      "charge 4",
    ]);
    const charges = (await entriesOf(account)).filter(({ kind }) => kind === "charge");
    expect(new Set(charges.map(({ reference }) => reference)).size).toBe(3);
  });
});

describe("a task that the account cannot pay", () => {
  it("is answered by 402 with the balance and the price, and nothing remains", async () => {
    const account = await anAccount(3);
    const body = priced(account, 4);
    const response = await post("/v1/tasks", body);
    const problem = Priced.parse(await response.json());
    expect([response.status, problem.code]).toEqual([402, "insufficient_credits"]);
    expect([problem.balance, problem.price]).toEqual([3, 4]);
    expect(await stored(body.id)).toEqual(NOTHING);
    expect((await call(`/v1/tasks/${body.id}`)).status).toBe(404);
    expect((await post("/v1/events", aCompletion(body.id))).status).toBe(404);
    expect(await booksOf(account)).toEqual(["grant 3"]);
  });

  it("is created when it is asked for again and the account can", async () => {
    const account = await anAccount();
    const body = priced(account, 4);
    for (let count = 0; count < 2; count++) {
      expect((await post("/v1/tasks", body)).status).toBe(402);
    }
    await grant(account, 4);
    expect((await post("/v1/tasks", body)).status).toBe(201);
    expect(await balanceOf(account)).toBe(0);
  });

  it(
    "is one of 300 when 500 ask at once and there is enough for 200",
    { timeout: 60_000 },
    async () => {
      const account = await anAccount(200 * 3 + 2);
      const bodies = Array.from({ length: 500 }, () => priced(account, 3));
      const statuses = await Promise.all(
        bodies.map(async (body) => (await post("/v1/tasks", body)).status),
      );
      expect(statuses.filter((status) => status === 201)).toHaveLength(200);
      expect(statuses.filter((status) => status === 402)).toHaveLength(300);
      expect(await balanceOf(account)).toBe(2);
      const paid = (await entriesOf(account)).flatMap(({ task_id }) => task_id ?? []);
      const created = bodies.flatMap(({ id }, i) => (statuses[i] === 201 ? [id] : []));
      expect(paid.toSorted()).toEqual(created.toSorted());
    },
  );
});

describe("a price", () => {
  it("needs an account, and an id or an Idempotency-Key", async () => {
    const account = await anAccount(10);
    const { id, credits, model } = priced(account, 4);
    const before = (await listDurableObjectIds(env.TASKS)).length;
    for (const [path, body] of [
      ["/account", { id, model, credits }],
      ["/account", { id, model, credits, account: null }],
      ["/id", { model, credits, account }],
      ["/id", { model, credits, account, id: null }],
    ] as const) {
      const answer = await refusal(await post("/v1/tasks", body));
      expect(answer).toEqual({ status: 400, code: "invalid_request", paths: [path] });
    }
    expect(await listDurableObjectIds(env.TASKS)).toHaveLength(before);
    expect(await balanceOf(account)).toBe(10);
  });

  it.each([
    ["negative", -1],
    ["zero", 0],
    ["fractional", 1.5],
    ["more than 2^53-1", 2 ** 53],
    ["text", "4"],
    ["true", true],
    ["a list", [4]],
  ])("is refused when it is %s, and nothing is charged", async (_, credits) => {
    const account = await anAccount(10);
    const body = { ...priced(account, 1), credits };
    const answer = await refusal(await post("/v1/tasks", body));
    expect(answer).toEqual({ status: 400, code: "invalid_request", paths: ["/credits"] });
    expect(await stored(body.id)).toEqual(NOTHING);
    expect(await balanceOf(account)).toBe(10);
  });

  it("is not for an account that does not exist: 404, and nothing remains", async () => {
    const body = priced(crypto.randomUUID(), 1);
    expect(await refusal(await post("/v1/tasks", body))).toEqual({
      status: 404,
      code: "not_found",
    });
    expect(await stored(body.id)).toEqual(NOTHING);
  });

  it("is not charged for a registration that is refused for another reason", async () => {
    const account = await anAccount(10);
    for (const fields of [
      { deadline_at: 5 },
      { callback_url: "https://10.0.0.1/" },
      { model: "" },
    ]) {
      const body = priced(account, 1, fields);
      expect((await post("/v1/tasks", body)).status).toBe(400);
      expect(await stored(body.id)).toEqual(NOTHING);
    }
    expect(await booksOf(account)).toEqual(["grant 10"]);
  });

  it("is null when there is none", async () => {
    const account = await anAccount(10);
    const body = { ...priced(account, 1), credits: null };
    const task = await taskOf(await post("/v1/tasks", body));
    expect(task).not.toHaveProperty("credits");
    expect(await booksOf(account)).toEqual(["grant 10"]);
  });
});

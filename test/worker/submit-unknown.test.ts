import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount, balanceOf } from "./accounts.ts";
import { START_S, useClock } from "./clock.ts";
import { refusal } from "./client.ts";
import { untilIdle, wake } from "./objects.ts";
import { answering } from "./outside.ts";
import { never } from "./receiver.ts";
import { anArk, ARK, ARK_PATH, BINDINGS, JOB, named, readSubmitted, submit } from "./submitted.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const UNKNOWN = { status: 424, code: "submit_unknown" };
/** Bindings of a relay that no upstream can reach, so that no hook shows a job. */
const HOOKLESS = { ...BINDINGS, PUBLIC_URL: "http://localhost:8787" };
const PRICE = 60;
const OFFERS = JSON.stringify([{ connection: "ark", models: ["*"], price: { credits: PRICE } }]);
const Unknown = z.looseObject({
  detail: z.string(),
  task: z.looseObject({ id: z.string(), status: z.string() }),
});

/** Reads the problem of an answer without consuming it. */
const problemIn = async (response: Response) => Unknown.parse(await response.clone().json());

it("when a submission's outcome is unknown but a hook may still state the job's id, the response says that the task waits for the hook, and until when", async () => {
  anArk(answering("bad gateway", 502));
  const { headers } = named();
  const response = await submit({ headers });
  const end = new Date((START_S + 3_600) * 1_000).toISOString().replace(".000Z", "Z");
  const { detail, task } = await problemIn(response);
  expect(detail).toContain(`waits for a hook that names the job until ${end}`);
  expect(task).toMatchObject({
    status: "pending",
    submission: { state: "unknown", waits_for: "hook", waits_until: START_S + 3_600 },
  });
  expect(await refusal(response)).toEqual(UNKNOWN);
});

it("when no hook can come, the task of a submission with an unknown outcome fails at once with a refund, and a repeated call gets the same 424", async () => {
  const outside = anArk(answering("bad gateway", 502));
  const account = await anAccount(PRICE);
  const { key } = await aKey(account);
  const headers = { "Idempotency-Key": "order-1", "Relay-Callback-Url": CALLBACK_URL };
  const bindings = { ...HOOKLESS, OFFERS };
  const response = await submit({ bindings, key, headers });
  const { detail, task } = await problemIn(response);
  expect(task).toMatchObject({ status: "failed", error: { code: "submit_unknown" } });
  expect(detail).toContain("a new try needs a new key");
  expect(response.headers.get("x-should-retry")).toBe("false");
  expect(await refusal(response)).toEqual(UNKNOWN);
  await untilIdle(task.id);
  expect(await balanceOf(account)).toBe(PRICE);
  expect(outside.sentTo(CALLBACK_URL)).toHaveLength(1);
  const again = await submit({ bindings, key, headers });
  expect(await problemIn(again)).toMatchObject({ detail, task: { id: task.id, status: "failed" } });
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(await refusal(again)).toEqual(UNKNOWN);
  expect([outside.sentTo(ARK).length, await balanceOf(account)]).toEqual([1, PRICE]);
});

it("when an upstream that cannot send hooks to the relay does not answer a submission, the task's alarm fails the task once the time for the response is over", async () => {
  const outside = anArk((_, signal) => never(signal));
  const { id, headers } = named();
  const call = submit({ headers, bindings: { ...HOOKLESS, SUBMIT_TIMEOUT_S: "5" } });
  await expect.poll(() => outside.sentTo(ARK)).toHaveLength(1);
  await wake(id, 15_000);
  expect(await readSubmitted(id)).toMatchObject({
    status: "failed",
    error: { code: "submit_unknown" },
  });
  expect(await problemIn(await call)).toMatchObject({ task: { id, status: "failed" } });
});

it("an upstream on the relay's own machine can send hooks to a relay at localhost, so that a task with an unknown outcome waits for a hook", async () => {
  const connection = {
    provider: "generic",
    base_url: "http://127.0.0.1:8188",
    submit: { path: "/jobs", id: "/id" },
    hook: { field: "hook" },
    poll: { path: "/jobs/{id}", state: "/status", outputs: ["/url"] },
    words: { done: "completed" },
  };
  const outside = anArk();
  outside.on("http://127.0.0.1:8188", answering("", 502));
  const declared = JSON.stringify({ near: connection });
  const bindings = { ...HOOKLESS, CONNECTIONS: declared, ALLOW_LOCAL_CALLBACKS: "true" };
  const { headers } = named();
  const response = await submit({ bindings, headers, path: "/v1/submit/near/jobs", body: "{}" });
  expect(await problemIn(response)).toMatchObject({
    task: { status: "pending", submission: { waits_for: "hook" } },
  });
});

it.each([
  ["at most 2 KB", "the stored answer", 1_900, 200],
  ["more than 2 KB", "409 with the task, which SDKs do not repeat", 3_000, 409],
])(
  "when the response to a submission had %s, a repeat of the submission after the callback was delivered gets %s",
  async (_size, _what, length, status) => {
    const answer = { id: JOB, text: "x".repeat(length) };
    const outside = anArk((sent) =>
      sent.method === "POST"
        ? Response.json(answer)
        : Response.json({
            id: JOB,
            status: "succeeded",
            content: { video_url: "https://a.example/v.mp4" },
          }),
    );
    const { id, headers } = named();
    await submit({ headers });
    expect((await submit({ headers })).status).toBe(200);
    await wake(id, 3_600_000);
    await untilIdle(id);
    expect(await readSubmitted(id)).toMatchObject({
      status: "completed",
      callback: { status: "delivered" },
    });
    const again = await submit({ headers });
    expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([status, "true"]);
    expect(again.headers.get("x-should-retry")).toBe(status === 409 ? "false" : null);
    if (status === 200) expect(await again.json()).toEqual(answer);
    expect(
      outside.sentTo(`${ARK}${ARK_PATH}`).filter((sent) => sent.method === "POST"),
    ).toHaveLength(1);
  },
);

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount } from "./accounts.ts";
import { callWith } from "./client.ts";
import { until, useClock } from "./clock.ts";
import { attach, type Hooked, hooked, sendHook } from "./hooked.ts";
import { stored, wake } from "./objects.ts";
import { anOutside, answering } from "./outside.ts";
import { found, SENDERS } from "./senders.ts";
import { aCompletion, CALLBACK_URL, read, report } from "./tasks.ts";

useClock();

const replicate = found(SENDERS, ({ provider }) => provider === "replicate");
const READER = "test-only-reading-key";
const BINDINGS = {
  ...env,
  ...replicate.keyVars,
  ...replicate.secretVars,
  OPERATOR_KEYS: `${env.OPERATOR_KEYS} read:${READER}`,
};
const Body = z.record(z.string(), z.unknown());

/** A prediction at Replicate that has ended after 41.2 s of work. */
const ended = (fields: object) =>
  JSON.stringify({ id: "job-1", metrics: { predict_time: 41.2, note: "a fox" }, ...fields });

async function byPoll({ id }: Hooked): Promise<void> {
  await wake(id, ((await stored(id)).alarm ?? NaN) - Date.now());
}

async function byHook(task: Hooked, body: string): Promise<void> {
  await sendHook(task, body, await replicate.sign(body, task));
}

const success = ended({ status: "succeeded", output: "https://replicate.delivery/out.mp4" });
const failure = ended({ status: "failed", error: "CUDA out of memory" });

it.each([
  ["a poll reads from a success", byPoll, success, "output"],
  ["a poll reads from a failure", byPoll, failure, "error"],
  ["a signed hook states with a success", byHook, success, "output"],
  ["a signed hook states with a failure", byHook, failure, "error"],
])(
  "usage that %s is shown by GET to operators with the role all or read, but not to the account, and is not in the callback",
  async (_, bring, answer, outcome) => {
    const outside = anOutside();
    outside.on(CALLBACK_URL, answering(""));
    outside.on("https://api.replicate.com", answering(JSON.parse(answer)));
    const account = await anAccount();
    const task = await hooked({ provider: "replicate", bindings: BINDINGS, fields: { account } });
    await attach(task, "job-1");
    await bring(task, answer);
    await until(() => outside.sentTo(CALLBACK_URL).length === 1);
    const usageFor = async (key?: string) => {
      const init = key === undefined ? {} : { key };
      const response = await callWith(BINDINGS, `/v1/tasks/${task.id}`, init);
      return Body.parse(await response.json())["usage"];
    };
    const { key } = await aKey(account);
    const usage = { predict_time: 41.2 };
    expect([await usageFor(), await usageFor(READER), await usageFor(key)]).toEqual([
      usage,
      usage,
      undefined,
    ]);
    const [callback] = outside.sentTo(CALLBACK_URL);
    const dated = outcome === "output" ? ["completed_at"] : [];
    expect(Object.keys(Body.parse(JSON.parse(callback?.body ?? "")))).toEqual([
      "id",
      "status",
      "model",
      "created_at",
      ...dated,
      outcome,
    ]);
  },
);

it.each([
  ["without its null members", { predict_time: 41.2, total_cost: null }, { predict_time: 41.2 }],
  ["as none when all its members are null", { total_cost: null }, undefined],
])(
  "members of an event's usage that are null are not stored: the usage is stored %s",
  async (_, usage, expected) => {
    const id = crypto.randomUUID();
    expect((await report(aCompletion(id, { model: "fox", usage }))).status).toBe(202);
    expect((await read(id))["usage"]).toEqual(expected);
  },
);

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount } from "./accounts.ts";
import { callWith } from "./client.ts";
import { until, useClock } from "./clock.ts";
import { attach, hooked } from "./hooked.ts";
import { stored, wake } from "./objects.ts";
import { anOutside, answering } from "./outside.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const READER = "test-only-reading-key";
const BINDINGS = {
  ...env,
  REPLICATE_API_TOKEN: "test-only-replicate-key",
  OPERATOR_KEYS: `${env.OPERATOR_KEYS} read:${READER}`,
};
const Failed = z.looseObject({
  error: z.object({ code: z.string(), message: z.string() }),
  failure: z.looseObject({}),
});

it("the ids of an upstream's requests in the text of a failure are shown to operators, but not to the account and not in the callback", async () => {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering(""));
  const text = "no channel (request id: 20260619225120231967659nCl6icA7) (tid: 2026042803152273)";
  const job = { id: "job-1", status: "failed", error: text };
  outside.on("https://api.replicate.com", answering(job));
  const account = await anAccount();
  const fields = { account };
  const task = await hooked({ provider: "replicate", bindings: BINDINGS, fields });
  await attach(task, job.id);
  await wake(task.id, ((await stored(task.id)).alarm ?? NaN) - Date.now());
  await until(() => outside.sentTo(CALLBACK_URL).length === 1);

  const error = { code: "upstream_error", message: "no channel" };
  const failure = { category: "provider", retryable: true };
  const ids = ["20260619225120231967659nCl6icA7", "2026042803152273"];
  const readWith = async (init: object) =>
    Failed.parse(await (await callWith(BINDINGS, `/v1/tasks/${task.id}`, init)).json());
  for (const init of [{}, { key: READER }]) {
    const shown = { error, failure: { ...failure, request_ids: ids } };
    expect(await readWith(init)).toMatchObject(shown);
  }
  const { key } = await aKey(account);
  const read = await readWith({ key });
  expect([read.error, read.failure]).toEqual([error, failure]);
  const [callback] = outside.sentTo(CALLBACK_URL);
  expect(JSON.parse(callback?.body ?? "")).toMatchObject({ error });
  expect(callback?.body).not.toMatch(new RegExp(ids.join("|")));
});

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { SubmitOutcome } from "../../src/core/events/event.ts";
import type { Caller } from "../../src/objects/task/caller.ts";
import { hookToken } from "../../src/security/hook-token.ts";
import { keyringOf } from "../../src/security/keyring.ts";
import { ORIGIN } from "./client.ts";
import { START_S, until, useClock } from "./clock.ts";
import { type Hooked, hooked, readHooked, sendHook } from "./hooked.ts";
import { expectUnchanged, restart, stubOf } from "./objects.ts";
import { anOutside, answering } from "./outside.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const OPERATOR: Caller = { kind: "operator", role: "all", key: "ops" };
const SUBMISSION_ID = "c3VibWlzc2lvbi1pZC0wMQ";
const OTHER_ID = "c3VibWlzc2lvbi1pZC0wMg";
const JOB = "cgt-1";
const VIDEO = "https://cdn.example.net/submitted.mp4";
const BINDINGS = { ...env, ARK_API_KEY: "test-only-ark-key" };
const SITE = "https://ark.";

/** Returns a successful job in the form of Ark, which repeats neither the id of the task nor its hook URL. */
function arkJob(changes: object = {}) {
  const content = { video_url: VIDEO };
  const job = { id: JOB, status: "succeeded", content, model: "seedance", created_at: START_S };
  return { ...job, ...changes };
}

async function hookUrlOf(id: string, submissionId: string | null): Promise<string> {
  const derived = { signingSecrets: null, eventsSecrets: null, signingKeys: null };
  const keyring = await keyringOf({ relaySecrets: [env.RELAY_SECRET], ...derived });
  if (keyring === null) throw new Error("no keys");
  const submission = { submissionId, hasCustomerKey: false };
  const token = await hookToken("ark", id, submission, keyring.hookKeys);
  return `${ORIGIN}/hooks/ark/${id}/${token}`;
}

/** Creates a task with a submission to Ark whose outcome is unknown, or not known yet when it is null. */
async function submitted(outcome: SubmitOutcome | null): Promise<Hooked> {
  const id = crypto.randomUUID();
  await restart(id, BINDINGS);
  const nothing = { parameters: null, metadata: null, deadlineAt: null };
  const owner = { accountId: null, credits: null };
  const registration = { callbackUrl: CALLBACK_URL, provider: "ark", ...nothing, ...owner };
  const submission = { id: SUBMISSION_ID, requestDigest: "digest", endpoint: null };
  const head = { type: "register", id, model: "seedance", origin: ORIGIN, registration } as const;
  const unpriced = { job: null, deadlineMs: null, account: null, chargeId: null };
  await stubOf(id).apply({ ...head, ...unpriced, submission }, OPERATOR);
  if (outcome !== null) {
    const event = { type: "submit_ended", submissionId: SUBMISSION_ID, outcome } as const;
    await stubOf(id).endSubmission(event, OPERATOR);
  }
  const hookUrl = await hookUrlOf(id, SUBMISSION_ID);
  return { id, provider: "ark", bindings: BINDINGS, hookUrl };
}

const UNKNOWN = { kind: "unknown", statusCode: null } as const;

it("when a submission's outcome is unknown, an unsigned hook to its hook URL causes a poll, whose response completes the task", async () => {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering(""));
  outside.on(SITE, answering(arkJob()));
  const task = await submitted(UNKNOWN);
  expect((await sendHook(task, JSON.stringify(arkJob()))).status).toBe(200);
  await until(async () => (await readHooked(task)).status === "completed");
  expect(await readHooked(task)).toMatchObject({
    output: { urls: [VIDEO] },
    upstream: { id: JOB },
    submission: { state: "accepted" },
  });
  expect(outside.sentTo(SITE)).toHaveLength(1);
});

it.each([
  ["another model", { model: "other" }],
  ["a time of creation before the submission", { created_at: START_S - 11 }],
  ["no time of creation", { created_at: undefined }],
])(
  "when a submission's outcome is unknown, a job that a hook reports does not become the task's job if the response to a poll of it states %s",
  async (_what, changes) => {
    const outside = anOutside();
    outside.on(SITE, answering(arkJob(changes)));
    const task = await submitted(UNKNOWN);
    expect((await sendHook(task, JSON.stringify(arkJob()))).status).toBe(200);
    await until(() => outside.sentTo(SITE).length === 1);
    const read = await readHooked(task);
    expect(read).toMatchObject({ status: "pending", submission: { state: "unknown" } });
    expect(JSON.stringify(read)).not.toContain(VIDEO);
  },
);

it.each([
  ["without an id of a submission", null],
  ["of another submission", OTHER_ID],
])(
  "a hook to a task that a submission has created gets 404 when its URL has a valid token %s",
  async (_what, id) => {
    const outside = anOutside();
    const task = await submitted(null);
    const hookUrl = await hookUrlOf(task.id, id);
    await expectUnchanged(task.id, async () => {
      expect((await sendHook({ ...task, hookUrl }, JSON.stringify(arkJob()))).status).toBe(404);
    });
    expect(outside.sentTo(SITE)).toEqual([]);
  },
);

it("a hook gets 404 when the token in its URL was made for another submission than the one that the URL names", async () => {
  const task = await submitted(null);
  const hookUrl = task.hookUrl.replace(SUBMISSION_ID, OTHER_ID);
  await expectUnchanged(task.id, async () => {
    expect((await sendHook({ ...task, hookUrl }, JSON.stringify(arkJob()))).status).toBe(404);
  });
});

it("a hook to a URL with the token of a submission gets 404 when the task was registered without a submission", async () => {
  const task = await hooked({ provider: "ark", bindings: BINDINGS });
  const hookUrl = await hookUrlOf(task.id, SUBMISSION_ID);
  await expectUnchanged(task.id, async () => {
    expect((await sendHook({ ...task, hookUrl }, JSON.stringify(arkJob()))).status).toBe(404);
  });
});

import { describe, expect, it } from "vitest";
import type { Poll } from "../../src/core/duties/poll.ts";
import { namesTask } from "../../src/outbound/named-task.ts";
import type { Observation } from "../../src/providers/observation.ts";
import { hmacKey } from "../../src/security/hmac.ts";
import { hookToken, readHookToken } from "../../src/security/hook-token.ts";
import { CONNECTION, ID, MODEL, NOW, ORIGIN, SECOND } from "./builders.ts";
import { OTHER_SUBMISSION_ID, SEALED_KEY, SUBMISSION_ID } from "./submission-builders.ts";
import { JOB } from "./upstream-builders.ts";

const key = await hmacKey(new Uint8Array(32).fill(1));
const otherKey = await hmacKey(new Uint8Array(32).fill(2));
const KEYRING = { hookKeys: [key] };
const TOLERANCE = 10 * SECOND;

const registered: Poll = {
  taskId: ID,
  connection: CONNECTION,
  job: JOB,
  createdAt: NOW,
  isUrgent: true,
  customerKey: null,
  submitted: null,
  purpose: "kept_job",
};
const submitted: Poll = {
  ...registered,
  submitted: { id: SUBMISSION_ID, model: MODEL, startedAt: NOW },
};

function named(
  poll: Poll,
  changes: Partial<Observation>,
  adapter: { readonly modelAliases?: RegExp } = {},
): Promise<boolean> {
  const nothing = { state: "running", urls: [], metadata: {}, completedAt: null, error: null };
  const observation = { jobId: JOB.id, ...nothing, ...changes };
  return namesTask({ kind: "observed", observation }, poll, KEYRING, adapter);
}

async function urlFor(
  submissionId: string | null,
  taskId = ID,
  connection = CONNECTION,
  hasCustomerKey = false,
) {
  const about = { submissionId, hasCustomerKey };
  const token = await hookToken(connection, taskId, about, [key]);
  return `${ORIGIN}/hooks/${connection}/${taskId}/${token}`;
}

function read(token: string, taskId = ID, connection = CONNECTION, keys = [key]) {
  return readHookToken(token, connection, taskId, keys);
}

function made(submissionId: string | null) {
  return hookToken(CONNECTION, ID, { submissionId, hasCustomerKey: false }, [key]);
}

describe("the answer to a poll of a job whose id only a hook to the URL of a submission has stated", () => {
  it.each<[string, Partial<Observation>, boolean]>([
    [
      "the submitted model and the start of the submission as the creation time, it follows",
      { model: MODEL, submittedAt: NOW },
      true,
    ],
    [
      "the submitted model and a creation time an hour after the submission, it follows",
      { model: MODEL, submittedAt: NOW + 3_600 * SECOND },
      true,
    ],
    [
      "the submitted model and a creation time 10 s before the submission (clocks may differ), it follows",
      { model: MODEL, submittedAt: NOW - TOLERANCE },
      true,
    ],
    [
      "the submitted model and a creation time over 10 s before the submission, it does not follow",
      { model: MODEL, submittedAt: NOW - TOLERANCE - 1 },
      false,
    ],
    [
      "another model than the submitted one, it does not follow",
      { model: "other", submittedAt: NOW },
      false,
    ],
    ["a creation time but no model, it does not follow", { submittedAt: NOW }, false],
    ["the submitted model but no creation time, it does not follow", { model: MODEL }, false],
    ["none of model, creation time and task id, it does not follow", {}, false],
    ["the id of the task, it follows", { taskId: ID.toUpperCase() }, true],
    ["the id of another task, it does not follow", { taskId: crypto.randomUUID() }, false],
  ])(
    "from a poll's answer with %s that the job whose id only a hook has stated is the job of the submission",
    async (_what, changes, isProof) => {
      expect(await named(submitted, changes)).toBe(isProof);
    },
  );

  it("when the submitted model is an alias, the creation time in a poll's answer suffices to prove that the job whose id a hook has stated is the job of the submission", async () => {
    const poll = { ...submitted, submitted: { id: SUBMISSION_ID, model: "ep-1", startedAt: NOW } };
    const stated = { model: MODEL, submittedAt: NOW };
    expect(await named(poll, stated, { modelAliases: /^ep-/ })).toBe(true);
    expect(await named(poll, stated)).toBe(false);
    expect(await named(submitted, { ...stated, model: "x" }, { modelAliases: /^ep-/ })).toBe(false);
  });

  it("for a task that the relay has not submitted, model and creation time in a poll's answer do not prove that the job whose id a hook has stated is the job of the task", async () => {
    expect(await named(registered, { model: MODEL, submittedAt: NOW })).toBe(false);
  });

  it("a poll's answer that contains the job's hook URL proves that the job belongs to the submission whose token is in this URL, and to no other", async () => {
    const own = await urlFor(SUBMISSION_ID);
    const other = await urlFor(OTHER_SUBMISSION_ID);
    const plain = await urlFor(null);
    const proofs = async (poll: Poll) =>
      Promise.all([own, other, plain].map((hookUrl) => named(poll, { hookUrl })));
    expect(await proofs(submitted)).toEqual([true, false, false]);
    expect(await proofs(registered)).toEqual([false, false, true]);
  });

  it("a poll's answer that contains a hook URL made for a customer's key proves whose job it is only if the job was polled with a customer's key", async () => {
    const customers: Poll = { ...submitted, customerKey: SEALED_KEY };
    const own = await urlFor(SUBMISSION_ID, ID, CONNECTION, true);
    const plain = await urlFor(SUBMISSION_ID);
    const proofs = async (poll: Poll) =>
      Promise.all([own, plain].map((hookUrl) => named(poll, { hookUrl })));
    expect(await proofs(customers)).toEqual([true, false]);
    expect(await proofs(submitted)).toEqual([false, true]);
  });

  it("a poll's answer does not prove whose job it is when, as the job's hook URL, it contains that of another task or connection, or a text that is no URL", async () => {
    for (const hookUrl of [
      await urlFor(SUBMISSION_ID, crypto.randomUUID()),
      await urlFor(SUBMISSION_ID, ID, "kling"),
      "no URL",
      "",
    ]) {
      expect(await named(submitted, { hookUrl })).toBe(false);
    }
  });
});

describe("the token in the hook URL of a submission", () => {
  it("the token in the hook URL of a submission is the submission's id, a dot and a MAC, and the submission's id can be read back from it", async () => {
    const token = await made(SUBMISSION_ID);
    expect(token).toMatch(new RegExp(`^${SUBMISSION_ID}\\.[A-Za-z0-9_-]{43}$`));
    const own = { hasCustomerKey: false };
    expect(await read(token)).toEqual({ ...own, submissionId: SUBMISSION_ID });
    expect(await read(await made(null))).toEqual({ ...own, submissionId: null });
  });

  it("the token in a hook URL that was made for a customer's key has a mark that says so; without this mark, or with one added, a token is invalid", async () => {
    const about = { submissionId: SUBMISSION_ID, hasCustomerKey: true };
    const token = await hookToken(CONNECTION, ID, about, [key]);
    expect(await read(token)).toEqual(about);
    expect(await read(token.replace(/^c\./, ""))).toBeNull();
    expect(await read(`c.${await made(SUBMISSION_ID)}`)).toBeNull();
    expect(await read(`c.${await made(null)}`)).toBeNull();
    const nothing = { submissionId: null, hasCustomerKey: true };
    await expect(hookToken(CONNECTION, ID, nothing, [key])).rejects.toThrow("without");
  });

  it("the token in the hook URL of a submission is valid when it was made under any of the keys that are configured now", async () => {
    const token = await made(SUBMISSION_ID);
    expect(await read(token, ID, CONNECTION, [otherKey, key])).not.toBeNull();
    expect(await read(token, ID, CONNECTION, [otherKey])).toBeNull();
  });

  it("the token in the hook URL of a submission is refused when the URL names another task or connection", async () => {
    const token = await made(SUBMISSION_ID);
    expect(await read(token, crypto.randomUUID())).toBeNull();
    expect(await read(token, ID, "ark-2")).toBeNull();
  });

  it("a hook token is refused when it has the id of another submission, lacks the id it was made with, or has an id although made without one", async () => {
    const mac = (await made(SUBMISSION_ID)).split(".").at(-1) ?? "";
    const plain = await made(null);
    for (const token of [
      `${OTHER_SUBMISSION_ID}.${mac}`,
      mac,
      `${SUBMISSION_ID}.${plain}`,
      `.${plain}`,
      `${SUBMISSION_ID}.`,
      SUBMISSION_ID,
      `${SUBMISSION_ID}.${mac}A`,
      `${SUBMISSION_ID.slice(1)}.${mac}`,
      `${SUBMISSION_ID}.${SUBMISSION_ID}.${mac}`,
    ]) {
      expect(await read(token)).toBeNull();
    }
  });
});

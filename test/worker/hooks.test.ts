import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { useClock } from "./clock.ts";
import {
  REPRESENTATIVES,
  aScene,
  CASES,
  type HookCase,
  hookOf,
  polled,
  type Scene,
  testHooks,
} from "./hook-cases.ts";
import { readHooked, sendHook } from "./hooked.ts";
import { refusalsOf, storedRefusals } from "./objects.ts";
import { bodyFor } from "./senders.ts";

useClock();

const Line = z.looseObject({
  event: z.string(),
  reason: z.optional(z.string()),
  outcome: z.optional(z.string()),
  code: z.optional(z.string()),
});
const HOOK_EVENTS = ["task.hook", "hook.ignored", "request.refused"];

describe.each(REPRESENTATIVES)("$name", testHooks);

describe.each(CASES)("$name", (hookCase) => {
  it(`${hookCase.name} that is empty, no JSON, of an unexpected form or about an unknown state ends no task: ${hookCase.hasKey ? "the relay polls the job" : "the relay only stores and logs why"}`, async () => {
    const scene = await attached(hookCase);
    const { hooks } = hookCase.sender;
    const unknown = hooks.flatMap(({ body, means }) => (means === null ? [body] : []));
    const unreadable = hooks.flatMap(({ body, means }) => (means === "nothing" ? [body] : []));
    // kie signs the job id, so the signature of a body without a job id cannot be verified.
    const isUnsigned = hookCase.sender.provider === "kie" && hookCase.isChecked;
    const outcomes: (readonly [number, readonly unknown[]])[] = [];
    for (const body of ["", "OK", '{"id":"', "[]", '"succeeded"', "null", ...unreadable]) {
      outcomes.push(await outcome(scene, hookCase, body));
    }
    if (isUnsigned) expect(new Set(outcomes.map(([status]) => status))).toEqual(new Set([401]));
    for (const body of unknown) outcomes.push(await outcome(scene, hookCase, body));
    const reasons = await storedRefusals(scene.task.id);
    const first = hookCase.hasKey ? "nudged" : "ignored";
    const taken = isUnsigned ? outcomes.slice(-unknown.length) : outcomes;
    expect(taken.slice(0, 2)).toEqual(
      [
        [200, [first]],
        [200, ["ignored"]],
      ].slice(0, taken.length),
    );
    const stored = hookCase.hasKey ? [] : ["malformed", "malformed", "malformed"];
    expect(reasons.slice(0, 3)).toEqual(isUnsigned ? Array(3).fill("bad_signature") : stored);
    if (hookCase.hasKey) await polled(scene);
    expect(scene.polls() > 0).toBe(hookCase.hasKey);
    expect((await readHooked(scene.task)).status).not.toMatch(/^(completed|failed)$/);
  });

  it.runIf(hookCase.sender.namesJobs)(
    `${hookCase.name} about another job than the one attached to its task changes nothing, except that its refusal is stored and logged`,
    async () => {
      const scene = await attached(hookCase);
      const { body } = hookOf(hookCase, "completed", "no_output");
      const foreign = body.replaceAll(hookCase.sender.done.jobId, "another-job");
      const reasons = await refusalsOf(scene.task.id, async () => {
        expect(await outcome(scene, hookCase, foreign)).toEqual([200, ["other_job"]]);
      });
      expect(reasons).toEqual(["other_job"]);
      expect(scene.polls()).toBe(0);
    },
  );

  it.runIf(hookCase.hasKey)(
    `${hookCase.name} that reports a success with links that begin with ftp:// does not end its task, but makes the relay poll the job`,
    async () => {
      const scene = await attached(hookCase);
      const { body } = hookOf(hookCase, "completed", "no_output");
      const [status] = await outcome(scene, hookCase, body.replaceAll(/https?:\/\//g, "ftp://"));
      await polled(scene);
      expect([status, (await readHooked(scene.task)).status]).toEqual([200, "processing"]);
    },
  );
});

async function attached(hookCase: HookCase): Promise<Scene> {
  const scene = await aScene(hookCase);
  await scene.attach();
  return scene;
}

/** Sends a hook; returns the HTTP status of the answer, and the reasons and outcomes in the log. */
async function outcome(
  { task }: Scene,
  { sender }: HookCase,
  raw: string,
): Promise<readonly [number, readonly unknown[]]> {
  const written = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const body = bodyFor({ name: "", body: raw, jobId: null, means: "nothing" }, task);
  const { status } = await sendHook(task, body, await sender.sign(body, task));
  const lines = written.mock.calls.map(([line]) => Line.parse(JSON.parse(String(line))));
  written.mockRestore();
  const ofHook = lines.filter(({ event }) => HOOK_EVENTS.includes(event));
  return [status, ofHook.map((line) => line.reason ?? line.outcome ?? line.code)];
}

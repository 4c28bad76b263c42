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
import { refusalsOf } from "./objects.ts";
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
  it(`${hookCase.name} that is empty, no JSON, of another shape or about an unknown state only has its refusal stored and logged`, async () => {
    const scene = await attached(hookCase);
    const { hooks } = hookCase.sender;
    const unknown = hooks.flatMap(({ body, means }) => (means === null ? [body] : []));
    const unreadable = hooks.flatMap(({ body, means }) => (means === "nothing" ? [body] : []));
    // kie signs the job id, so the signature of a body without a job id cannot be verified.
    const isUnsigned = hookCase.sender.provider === "kie" && hookCase.isChecked;
    const reasons = await refusalsOf(scene.task.id, async () => {
      for (const body of ["", "OK", '{"id":"', "[]", '"succeeded"', "null", ...unreadable]) {
        const expected = isUnsigned ? [401, ["unauthenticated"]] : [200, ["malformed"]];
        expect([body, await outcome(scene, hookCase, body)]).toEqual([body, expected]);
      }
      for (const body of unknown)
        expect(await outcome(scene, hookCase, body)).toEqual([200, ["unknown_state"]]);
    });
    expect(reasons.slice(0, 3)).toEqual(Array(3).fill(isUnsigned ? "bad_signature" : "malformed"));
    expect(reasons.slice(3)).toEqual(unknown.slice(0, 3).map(() => "unknown_state"));
    expect(scene.polls()).toBe(0);
  });

  it.runIf(hookCase.sender.namesJobs)(
    `${hookCase.name} about another job than the attached one only has its refusal stored and logged`,
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
    `${hookCase.name} about a success whose links begin with ftp:// ends no task, and causes a poll`,
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

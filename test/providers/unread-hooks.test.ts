import { expect, it } from "vitest";
import { hookEvent } from "../../src/api/hooks/hook-event.ts";
import type { HookEvent } from "../../src/core/events/event.ts";
import { saysRunning } from "../../src/providers/unread-hook.ts";
import { ADAPTERS } from "./adapters.ts";
import { aHook } from "./hook.ts";

const TASK_ID = "0c3f8a52-5d0e-4b6c-9b2e-3a1f5d7e9c11";
const CONFIG = {
  allowLocalCallbacks: false,
  allowIpCallbacks: false,
  publicUrl: null,
  outputsOrigin: null,
  isListenOn: false,
  isErrorTextGeneric: false,
  areOutputsKept: false,
};

/** Returns what the relay makes of a hook to the URL of a task. */
function eventOf(name: string, json: unknown, isSigned: boolean): HookEvent | string {
  const provider = ADAPTERS.get(name);
  if (provider === undefined || provider.hooks === null) throw new Error(`${name} sends no hooks`);
  const connection = {
    name,
    provider,
    baseUrl: "https://upstream.example.com",
    key: "k",
    webhookSecret: null,
    userId: null,
    jwksUrl: null,
    pollsPerMinute: null,
    inFlight: null,
    queueLimit: 0,
    pool: null,
  };
  const target = { adapter: provider.hooks, connection, taskId: TASK_ID, submissionId: null };
  const hook = aHook({}, "", { path: `/hooks/${name}/task/token` });
  return hookEvent(target, json, hook, isSigned, CONFIG);
}

const WITH_HOOKS = [...ADAPTERS.keys()].filter((name) => ADAPTERS.get(name)?.hooks !== null);

it.each(WITH_HOOKS)(
  "a hook of %s whose form is unknown, signed or not, counts only as a claim that the job has ended",
  (name) => {
    for (const json of [undefined, null, [], "done", { ok: true }, { result: { file: "a.mp4" } }]) {
      for (const isSigned of [true, false]) {
        expect(eventOf(name, json, isSigned)).toMatchObject({
          type: "hook",
          news: { status: "no_output" },
          unread: expect.stringMatching(/^(malformed|unknown_state)$/),
          isSigned,
        });
      }
    }
  },
);

it.each([
  ["replicate", { id: "job-1", status: "pondering" }, "job-1"],
  ["ark", { id: "job-1", status: "pondering", content: { status: "running" } }, "job-1"],
  ["kie", { code: 200, data: { taskId: "job-1", info: {} } }, "job-1"],
  ["newapi", { task_status: "pondering", data: { status: "PONDERING" } }, null],
])(
  "a hook of %s with a state that the relay does not know (%j) counts only as a claim that its job has ended",
  (name, json, jobId) => {
    expect(eventOf(name, json, true)).toMatchObject({ jobId, unread: "unknown_state" });
  },
);

it.each(WITH_HOOKS)(
  "a hook of %s whose form is unknown but which has a word for a running state says that the job runs, and not that it has ended",
  (name) => {
    const event = eventOf(name, { event: "job.progress", result: { job_status: "RUNNING" } }, true);
    expect(event).toMatchObject({ news: { status: "processing" } });
    expect(event).not.toHaveProperty("unread");
  },
);

it("a hook that names another task than the one in its URL is ignored, even when the relay does not know the state in the hook", () => {
  const json = { id: "job-1", payload: "6f2d1c0e-8f1a-4f0b-9d53-0b7a6f1e2d3c", state: "pondering" };
  expect(eventOf("vidu", json, false)).toBe("other_task");
});

it.each<[unknown, boolean]>([
  [{ type: "video.in_progress" }, true],
  [{ status: "In Progress" }, true],
  [{ data: { task: { state: "queued" } } }, true],
  [[{ taskStatus: "running" }], true],
  [{ event: "task/updated" }, true],
  [{ status: "running", data: { status: "completed" } }, false],
  [{ type: "video.completed", status: "processing" }, false],
  [{ status: "pondering" }, false],
  [{ statusText: "running", note: "processing" }, false],
  [{ a: { b: { c: { d: { status: "running" } } } } }, false],
  ["running", false],
])(
  "a hook that the provider's adapter cannot read, with the body %j, is taken to say that the job still runs: %s",
  (body, says) => {
    expect(saysRunning(body)).toBe(says);
  },
);

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { useClock } from "./clock.ts";
import { hooked, type Hooked, readHooked, sendHook } from "./hooked.ts";
import { stored, wake } from "./objects.ts";
import { anOutside, answering } from "./outside.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const JOB = "job-1";
const VIDEO = "https://cdn.example.net/kept.mp4";
const BINDINGS = {
  ...env,
  ARK_API_KEY: "test-only-ark-key",
  KIE_API_KEY: "test-only-kie-key",
  KLING_API_KEY: "test-only-kling-key",
};
const HOURS_72_MS = 72 * 3_600_000;

/** Returns a successful job in the form of Kling. @param name task id that the submit call contained. */
function klingJob(name?: string) {
  const videos = [{ url: VIDEO }];
  const done = { task_id: JOB, task_status: "succeed", task_result: { videos } };
  return { ...done, ...(name !== undefined && { task_info: { external_task_id: name } }) };
}

/** Returns a successful job in the form of kie. @param name hook URL that the submit call contained. */
function kieJob(name?: string) {
  const resultJson = JSON.stringify({ resultUrls: [VIDEO] });
  const param = JSON.stringify({ callBackUrl: name });
  return { code: 200, data: { taskId: JOB, state: "success", resultJson, param } };
}

const UPSTREAMS = [
  {
    provider: "kling",
    site: "https://api-singapore.klingai.com",
    hook: klingJob(),
    answer: (name?: string) => ({ data: [klingJob(name)] }),
    nameOf: ({ id }: Hooked) => id.toUpperCase(),
  },
  {
    provider: "kie",
    site: "https://api.kie.ai",
    hook: kieJob(),
    answer: kieJob,
    nameOf: ({ hookUrl }: Hooked) => hookUrl,
  },
];

function aNetwork() {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering(""));
  return outside;
}

/** Creates a task to which a hook of a job has come that nobody has attached. */
async function named(provider: string, hook: object): Promise<Hooked> {
  const task = await hooked({ provider, bindings: BINDINGS });
  expect((await sendHook(task, JSON.stringify(hook))).status).toBe(200);
  expect(await readHooked(task)).toMatchObject({ tracking: { kept_jobs: [JOB] } });
  return task;
}

async function passDeadline({ id }: Hooked): Promise<void> {
  const { alarm } = await stored(id);
  expect(alarm).toBe(Date.now() + HOURS_72_MS);
  await wake(id, HOURS_72_MS);
}

describe.each(UPSTREAMS)("a job of $provider that only a hook has named", (upstream) => {
  const { provider, site, hook, answer, nameOf } = upstream;

  it(`a job whose id only a hook has stated is polled at the task's deadline, and completes the task if the response of ${provider} names this task`, async () => {
    const outside = aNetwork();
    const task = await named(provider, hook);
    outside.on(site, answering(answer(nameOf(task))));
    await passDeadline(task);
    expect(await readHooked(task)).toMatchObject({
      status: "completed",
      output: { urls: [VIDEO] },
      upstream: { id: JOB },
    });
    expect(outside.sentTo(site)).toHaveLength(1);
  });

  it.each([
    ["names another task", (other: Hooked) => nameOf(other)],
    ["names no task", () => undefined],
  ])(
    `a task that got a forged hook with the id of another task's job fails at its deadline if the response of ${provider} to the poll of that job %s`,
    async (_what, nameIn) => {
      const outside = aNetwork();
      const other = await hooked({ provider, bindings: BINDINGS });
      const task = await named(provider, hook);
      outside.on(site, answering(answer(nameIn(other))));
      await passDeadline(task);
      const read = await readHooked(task);
      expect(read).toMatchObject({ status: "failed", error: { code: "upstream_timeout" } });
      expect(JSON.stringify(read)).not.toContain(VIDEO);
      expect(outside.sentTo(site)).toHaveLength(1);
    },
  );
});

it("a task whose job id only a hook has stated fails at its deadline if kie's response to the poll has the task's hook URL with a wrong token", async () => {
  const outside = aNetwork();
  const task = await named("kie", kieJob());
  outside.on(
    "https://api.kie.ai",
    answering(kieJob(task.hookUrl.replace(/[^/]+$/, "x".repeat(43)))),
  );
  await passDeadline(task);
  expect(await readHooked(task)).toMatchObject({ error: { code: "upstream_timeout" } });
});

it("a task whose job id only a hook has stated fails at its deadline without a poll if the provider's responses never say to which task a job belongs", async () => {
  const outside = aNetwork();
  const content = { video_url: VIDEO };
  const task = await named("ark", { id: JOB, status: "succeeded", content });
  await passDeadline(task);
  expect(await readHooked(task)).toMatchObject({ error: { code: "upstream_timeout" } });
  expect(outside.sentTo("https://ark.")).toEqual([]);
});

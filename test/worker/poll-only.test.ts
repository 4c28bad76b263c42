import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { answerTo, aRequest } from "./client.ts";
import { until, useClock } from "./clock.ts";
import { restart, stored, wake } from "./objects.ts";
import { anOutside, answering, type Site } from "./outside.ts";
import { CALLBACK_URL, Task } from "./tasks.ts";

useClock();

const VIDEO = "https://cdn.example.net/a.mp4";

it.each<[string, string, string, Site, object]>([
  [
    "runway",
    "RUNWAY_API_KEY",
    "https://api.dev.runwayml.com/v1/tasks/job-1",
    answering({ id: "job-1", status: "RUNNING" }),
    { id: "job-1", status: "SUCCEEDED", output: [VIDEO] },
  ],
  [
    "dashscope",
    "DASHSCOPE_API_KEY",
    "https://dashscope.aliyuncs.com/api/v1/tasks/job-1",
    answering({ output: { task_id: "job-1", task_status: "RUNNING" } }),
    { output: { task_id: "job-1", task_status: "SUCCEEDED", video_url: VIDEO } },
  ],
  [
    "xai",
    "XAI_API_KEY",
    "https://api.x.ai/v1/videos/job-1",
    () => new Response(null, { status: 202 }),
    { status: "done", video: { url: VIDEO, respect_moderation: true } },
  ],
])(
  "a task of %s, which sends no hooks, is registered without hook_url, and polls alone make it processing and completed",
  async (provider, keyName, url, running, done) => {
    const outside = anOutside();
    outside.on(CALLBACK_URL, answering("thank you"));
    const bindings = { ...env, [keyName]: "test-only-key" };
    const id = crypto.randomUUID();
    const send = async (path: string, body?: object): Promise<unknown> =>
      (await answerTo(aRequest(path, { body }), bindings)).json();
    const poll = async (site: Site) => {
      outside.on(url, site);
      await wake(id, ((await stored(id)).alarm ?? NaN) - Date.now());
      return Task.parse(await send(`/v1/tasks/${id}`));
    };
    await restart(id, bindings);
    const body = { id, model: "m", callback_url: CALLBACK_URL, provider };
    expect(await send("/v1/tasks", body)).not.toHaveProperty("hook_url");
    await send(`/v1/tasks/${id}/upstream`, { provider, id: "job-1" });
    expect(await poll(running)).toMatchObject({ status: "processing" });
    const completed = { status: "completed", output: { urls: [VIDEO] } };
    expect(await poll(answering(done))).toMatchObject(completed);
    await until(() => outside.sentTo(CALLBACK_URL).length === 1);
    const polls = outside.sentTo(url).map((sent) => [sent.url, sent.headers["authorization"]]);
    expect(polls).toEqual([url, url].map((one) => [one, "Bearer test-only-key"]));
  },
);

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { call, callWith } from "./client.ts";
import { CONTENT_TIMEOUT_MS, POLL_TIMEOUT_MS } from "../../src/lib/timeout.ts";
import { pass, until, useClock } from "./clock.ts";
import { restart, stored, stubOf, untilIdle, wake } from "./objects.ts";
import { anOutside, answering, type Site } from "./outside.ts";
import { never } from "./receiver.ts";
import { BINDINGS, named, submit } from "./submitted.ts";
import { holdTimers } from "./timers.ts";

useClock();

const GATEWAY = "https://gateway.example.net";
const POLL = `${GATEWAY}/v1/videos/video_7`;
const CONTENT = `${POLL}/content`;
const CDN = "https://cdn.example.net/7.mp4";
const KEY = "sk-test-only-gateway";
const CONNECTIONS = JSON.stringify({
  gateway: { provider: "openai-videos", key: KEY, base_url: GATEWAY },
});
const DONE = { id: "video_7", object: "video", status: "completed", progress: 100 };
const FILE: Site = () => new Response("\0", { status: 206 });
const LINK = expect.stringMatching(/^https:\/\/relay\.example\.com\/outputs\//);
const WITHOUT_OUTPUT = { status: "pending", tracking: { answer: "no_output" } };
const Task = z.looseObject({ status: z.string() });

function bindings(vars: object = {}) {
  return { ...env, CONNECTIONS, ...vars };
}

/** Lets one poll find this answer of the gateway, with this site at the content path of the job. */
async function polled(content: Site, answer: object = DONE, vars: object = {}) {
  const outside = anOutside();
  outside.on(POLL, answering(answer));
  outside.on(CONTENT, content);
  const id = crypto.randomUUID();
  await restart(id, bindings());
  await callWith(bindings(), "/v1/tasks", { body: { id, model: "m", provider: "gateway" } });
  const job = { provider: "gateway", id: "video_7" };
  await callWith(bindings(), `/v1/tasks/${id}/upstream`, { body: job });
  await restart(id, bindings(vars));
  const poll = async () => {
    await wake(id, 150_000);
    await untilIdle(id);
    return Task.parse(await (await call(`/v1/tasks/${id}`)).json());
  };
  const alarmIn = async () => ((await stored(id)).alarm ?? NaN) - Date.now();
  return { ...outside, poll, alarmIn, task: await poll() };
}

describe("a success whose answer has no link, of an upstream with a content path", () => {
  it.each<[string, Site]>([
    ["a part of a file", FILE],
    ["a whole file", () => new Response("\0\0\0\x18ftyp")],
    [
      "a file of a type that says HTML",
      () => new Response("\0", { headers: { "Content-Type": "text/html" } }),
    ],
  ])(
    "when a poll of a finished job shows no link, and the upstream answers /v1/videos/{id}/content with %s, the task completes with a link of the relay to this file",
    async (_, site) => {
      const { task, sentTo } = await polled(site);
      expect(task).toMatchObject({ status: "completed", output: { urls: [LINK] } });
      const [asked, ...others] = sentTo(CONTENT);
      expect(others).toEqual([]);
      const headers = { authorization: `Bearer ${KEY}`, range: "bytes=0-0" };
      expect(asked).toMatchObject({ method: "GET", headers });
    },
  );

  it.each<[string, Site]>([
    ["HTTP 404", answering({ error: "not found" }, 404)],
    ["HTTP 401", answering(null, 401)],
    ["HTTP 500", answering(null, 500)],
    ["HTTP 204 and no body", () => new Response(null, { status: 204 })],
    ["an empty file", () => new Response("")],
    ["an error with HTTP 200", answering({ error: { message: "not ready" } })],
    ["a page", () => new Response("<!doctype html>", { headers: { "Content-Type": "text/html" } })],
    ["a redirect to this machine", answering(null, 302, { Location: "http://127.0.0.1:1/" })],
  ])(
    "when a poll of a finished job shows no link, and the upstream answers /v1/videos/{id}/content with %s, the task stays open until a later poll finds the file there",
    async (_, site) => {
      const { task, poll, on, sentTo } = await polled(site);
      expect(task).toMatchObject(WITHOUT_OUTPUT);
      expect(sentTo("http://127.0.0.1")).toEqual([]);
      on(CONTENT, FILE);
      expect(await poll()).toMatchObject({ status: "completed", output: { urls: [LINK] } });
    },
  );

  it("the relay follows a redirect from /v1/videos/{id}/content to the job's file, without sending the upstream's key to the redirect's target", async () => {
    const { task, poll, on, sentTo } = await polled(answering(null, 404));
    expect(task.status).toBe("pending");
    on(CONTENT, answering(null, 302, { Location: CDN }));
    on(CDN, FILE);
    expect(await poll()).toMatchObject({ status: "completed", output: { urls: [LINK] } });
    expect(Object.keys(sentTo(CDN)[0]?.headers ?? {})).not.toContain("authorization");
  });

  it.each<[string, Site, string]>([
    ["HTTP 429", answering(null, 429), "limited"],
    ["a lost connection", () => Promise.reject(new Error("lost")), "unanswered"],
  ])(
    "when /v1/videos/{id}/content of a finished job answers with %s, the task stays open and is not shown as one without an output",
    async (_, site, answer) => {
      const { task } = await polled(site);
      expect(task.status).toBe("pending");
      expect(JSON.stringify(task["tracking"])).toContain(answer === "limited" ? answer : "");
      expect(JSON.stringify(task["tracking"])).not.toContain("no_output");
    },
  );

  it("when /v1/videos/{id}/content answers HTTP 429, the relay asks for the job's file again only after the time in Retry-After", async () => {
    const { alarmIn } = await polled(answering(null, 429, { "Retry-After": "1800" }));
    expect(await alarmIn()).toBeGreaterThanOrEqual(1_800_000);
  });

  it("when PUBLIC_URL is not set, so that the relay cannot give links of its own, it does not ask /v1/videos/{id}/content for a job's file", async () => {
    const { task, sentTo } = await polled(FILE, DONE, { PUBLIC_URL: "" });
    expect(task).toMatchObject(WITHOUT_OUTPUT);
    expect(sentTo(CONTENT)).toEqual([]);
  });

  it("the relay does not ask /v1/videos/{id}/content for a job's file while the job runs, or when the poll response has a link to another address", async () => {
    const running = await polled(FILE, { ...DONE, status: "in_progress" });
    expect(running.sentTo(CONTENT)).toEqual([]);
    const { task, sentTo } = await polled(FILE, { ...DONE, url: CDN });
    expect(task).toMatchObject({ status: "completed", output: { urls: [CDN] } });
    expect(sentTo(CONTENT)).toEqual([]);
  });
});

describe("a success whose answer has an output of its own and no link, of an upstream with a content path", () => {
  const caption = { caption: "A fox runs" };
  const frame = { last_frame: `data:image/png;base64,${btoa("\x89PNG\r\n frame")}` };

  it("when a poll of a finished job shows a text but no link, the output is the job's file at /v1/videos/{id}/content, and not this text", async () => {
    const { task } = await polled(FILE, { ...DONE, ...caption });
    expect(task).toMatchObject({ status: "completed", output: { urls: [LINK] } });
  });

  it("when a poll of a finished job shows a picture in base64 but no link, the output is the job's file at /v1/videos/{id}/content, and not this picture", async () => {
    const { task } = await polled(FILE, { ...DONE, ...frame });
    expect(task).toMatchObject({ status: "completed", output: { urls: [LINK] } });
  });

  it("when a poll of a finished job shows only a text, and /v1/videos/{id}/content answers 404, the task fails with output_not_a_file", async () => {
    const { task } = await polled(answering(null, 404), { ...DONE, ...caption });
    expect(task).toMatchObject({ status: "failed", error: { code: "output_not_a_file" } });
  });
});

/**
 * Lets a poll ask a content path, which answers when the test says so.
 * @param limitMs time limit that passes when the test says so.
 */
async function slowlyAsked(answer: object, limitMs: number) {
  const outside = anOutside();
  const id = crypto.randomUUID();
  const signals: AbortSignal[] = [];
  let isOpen = false;
  outside.on(POLL, answering(answer));
  outside.on(CONTENT, (_, signal) => {
    signals.push(signal);
    const file = until(() => isOpen || signal.aborted).then(() => new Response("\0"));
    return Promise.race([never(signal), file]);
  });
  await restart(id, bindings());
  await callWith(bindings(), "/v1/tasks", { body: { id, model: "m", provider: "gateway" } });
  const job = { provider: "gateway", id: "video_7" };
  await callWith(bindings(), `/v1/tasks/${id}/upstream`, { body: job });
  const expire = holdTimers(limitMs);
  pass(150_000);
  const run = wake(id);
  await until(() => signals.length === 1);
  const task = async () => {
    await run;
    await untilIdle(id);
    return Task.parse(await (await call(`/v1/tasks/${id}`)).json());
  };
  // A timer belongs to the object that has set it.
  const passLimit = () => runInDurableObject(stubOf(id), () => expire());
  const open = () => {
    isOpen = true;
  };
  return { id, signals, task, passLimit, open };
}

describe("a content path that does not answer within the time for the state of its job", () => {
  it("the relay waits longer for a job's file at /v1/videos/{id}/content than for a poll, even when the alarm that guards the poll fires meanwhile", async () => {
    const { id, signals, task, passLimit, open } = await slowlyAsked(DONE, POLL_TIMEOUT_MS);
    await passLimit();
    expect(signals[0]?.aborted).toBe(false);
    const watchdog = wake(id, 15_000);
    open();
    await watchdog;
    expect(await task()).toMatchObject({ status: "completed", output: { urls: [LINK] } });
    expect(signals).toHaveLength(1);
  });

  it("when a poll response names /v1/videos/{id}/content as an output, and it does not answer within 30 seconds, the task completes with a link of the relay to it", async () => {
    const { task, passLimit } = await slowlyAsked(
      { ...DONE, metadata: { url: CONTENT } },
      CONTENT_TIMEOUT_MS,
    );
    await passLimit();
    expect(await task()).toMatchObject({ status: "completed", output: { urls: [LINK] } });
  });

  it("when a poll of a finished job shows no link, and /v1/videos/{id}/content does not answer within 30 seconds, the task stays open", async () => {
    const { task, passLimit } = await slowlyAsked(DONE, CONTENT_TIMEOUT_MS);
    await passLimit();
    const { status, tracking } = await task();
    expect(status).toBe("pending");
    expect(JSON.stringify(tracking)).not.toContain("no_output");
  });
});

describe("a success whose link is the content path of its job at another origin", () => {
  const frame = "https://cdn.example.net/last.png";
  const metadata = { url: "https://public.example.org/v1/videos/video_7/content", frame };

  it("when a poll response names /v1/videos/{id}/content at another origin, the relay asks for it at the configured base URL, and lists it as the first output", async () => {
    const { task, sentTo } = await polled(FILE, { ...DONE, metadata });
    expect(task).toMatchObject({ status: "completed", output: { urls: [LINK, frame] } });
    expect(sentTo(CONTENT)).toHaveLength(1);
    expect(sentTo("https://public.example.org")).toEqual([]);
  });

  it("when a poll response names /v1/videos/{id}/content at another origin, but no file is there, a sound in the response is the output", async () => {
    const url = metadata.url;
    const sound = "https://cdn.example.net/7.mp3";
    const { task } = await polled(answering(null, 404), { ...DONE, metadata: { url, sound } });
    expect(task).toMatchObject({ status: "completed", output: { urls: [sound] } });
  });

  it("when a poll response names /v1/videos/{id}/content at another origin, but no file is there, a picture in the response does not count as the output", async () => {
    const { task } = await polled(answering(null, 404), { ...DONE, metadata });
    expect(task).toMatchObject(WITHOUT_OUTPUT);
  });
});

describe("a link that a job got as input with its submission", () => {
  const input = "https://client.example.net/in.png?a=1&b=2";
  const upstream = BINDINGS.OPENAI_VIDEOS_BASE_URL;
  const job = `${upstream}/v1/videos/video_7`;

  /** Submits a job with the link, and lets one poll find an answer with this member that repeats the link. */
  async function repeated(repeating: object) {
    const outside = anOutside();
    outside.on("https://client.example.net/", () => new Response());
    outside.on(`${upstream}/v1/videos`, answering({ ...DONE, status: "queued" }));
    const { id, headers } = named();
    const spelt = JSON.stringify({ model: "m", image: input }).replaceAll("/", String.raw`\/`);
    await submit({ path: "/v1/submit/openai-videos/v1/videos", headers, body: spelt });
    outside.on(job, answering({ ...DONE, ...repeating }));
    outside.on(`${job}/content`, FILE);
    await wake(id, 150_000);
    await untilIdle(id);
    const task = Task.parse(await (await callWith(BINDINGS, `/v1/tasks/${id}`)).json());
    return { task, ...outside };
  }

  it("a link that a job got as its input is no output, even when the upstream repeats it next to the output", async () => {
    const { task } = await repeated({ picture: input, url: CDN });
    expect(task).toMatchObject({ status: "completed", output: { urls: [CDN] } });
  });

  it("when the only link in a poll response is one that the job got as its input, the output is the job's file at /v1/videos/{id}/content", async () => {
    const { task, sentTo } = await repeated({ picture: input });
    expect(task).toMatchObject({ status: "completed", output: { urls: [LINK] } });
    expect(sentTo(`${job}/content`)).not.toEqual([]);
  });

  it("a link that one job got as its input can be an output of another job, which got another link", async () => {
    const { task } = await repeated({ picture: `${input}&c=3` });
    expect(task).toMatchObject({ output: { urls: [`${input}&c=3`] } });
  });
});

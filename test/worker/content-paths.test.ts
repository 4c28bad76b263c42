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
    "a successful job whose poll response has no link completes with a link of the relay when its content path (where its file is) answers with %s",
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
    ["nothing", () => new Response(null, { status: 204 })],
    ["an empty file", () => new Response("")],
    ["an error with HTTP 200", answering({ error: { message: "not ready" } })],
    ["a page", () => new Response("<!doctype html>", { headers: { "Content-Type": "text/html" } })],
    ["a redirect to this machine", answering(null, 302, { Location: "http://127.0.0.1:1/" })],
  ])(
    "a successful job whose poll response has no link has no output yet when its content path (where its file is) answers with %s; a later poll asks again",
    async (_, site) => {
      const { task, poll, on, sentTo } = await polled(site);
      expect(task).toMatchObject(WITHOUT_OUTPUT);
      expect(sentTo("http://127.0.0.1")).toEqual([]);
      on(CONTENT, FILE);
      expect(await poll()).toMatchObject({ status: "completed", output: { urls: [LINK] } });
    },
  );

  it("the file at a job's content path is found through a redirect, whose target does not get the key", async () => {
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
    "when a successful job's content path (where its file is) answers with %s, it is unknown whether the job has an output",
    async (_, site, answer) => {
      const { task } = await polled(site);
      expect(task.status).toBe("pending");
      expect(JSON.stringify(task["tracking"])).toContain(answer === "limited" ? answer : "");
      expect(JSON.stringify(task["tracking"])).not.toContain("no_output");
    },
  );

  it("when a job's content path (where its file is) answers HTTP 429, the relay asks it again only after the time in Retry-After", async () => {
    const { alarmIn } = await polled(answering(null, 429, { "Retry-After": "1800" }));
    expect(await alarmIn()).toBeGreaterThanOrEqual(1_800_000);
  });

  it("when the relay has no address for links of its own, it does not ask a job's content path for a file", async () => {
    const { task, sentTo } = await polled(FILE, DONE, { PUBLIC_URL: "" });
    expect(task).toMatchObject(WITHOUT_OUTPUT);
    expect(sentTo(CONTENT)).toEqual([]);
  });

  it("a job's content path (where its file is) is not asked while the job runs, or when the poll response has a link to another address", async () => {
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

  it("the output of a success whose poll response has a text but no link is the file at the job's content path, and not this text", async () => {
    const { task } = await polled(FILE, { ...DONE, ...caption });
    expect(task).toMatchObject({ status: "completed", output: { urls: [LINK] } });
  });

  it("the output of a success without a link is the file at the job's content path when the relay does not keep a picture in the poll response", async () => {
    const { task } = await polled(FILE, { ...DONE, ...frame });
    expect(task).toMatchObject({ status: "completed", output: { urls: [LINK] } });
  });

  it("a task fails when its successful job's poll response has only text and no file is at the job's content path", async () => {
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
  it("the relay waits longer for a job's content path (where its file is) than for a poll, even while the watchdog alarm fires", async () => {
    const { id, signals, task, passLimit, open } = await slowlyAsked(DONE, POLL_TIMEOUT_MS);
    await passLimit();
    expect(signals[0]?.aborted).toBe(false);
    const watchdog = wake(id, 15_000);
    open();
    await watchdog;
    expect(await task()).toMatchObject({ status: "completed", output: { urls: [LINK] } });
    expect(signals).toHaveLength(1);
  });

  it("a content path (where a job's file is) that the upstream has named counts as a file when it does not answer within 30 seconds", async () => {
    const { task, passLimit } = await slowlyAsked(
      { ...DONE, metadata: { url: CONTENT } },
      CONTENT_TIMEOUT_MS,
    );
    await passLimit();
    expect(await task()).toMatchObject({ status: "completed", output: { urls: [LINK] } });
  });

  it("a content path (where a job's file is) that the upstream has not named counts as no file when it does not answer within 30 seconds", async () => {
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

  it("when the upstream names a job's content path at another origin, the relay asks it at the connection's base URL, and lists its link first", async () => {
    const { task, sentTo } = await polled(FILE, { ...DONE, metadata });
    expect(task).toMatchObject({ status: "completed", output: { urls: [LINK, frame] } });
    expect(sentTo(CONTENT)).toHaveLength(1);
    expect(sentTo("https://public.example.org")).toEqual([]);
  });

  it("when no file is at a content path that the upstream names at another origin, the other files in the poll response are the outputs", async () => {
    const url = metadata.url;
    const sound = "https://cdn.example.net/7.mp3";
    const { task } = await polled(answering(null, 404), { ...DONE, metadata: { url, sound } });
    expect(task).toMatchObject({ status: "completed", output: { urls: [sound] } });
  });

  it("when the content path that the upstream names at another origin does not open, a success with a picture has no output", async () => {
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

  it("when the only link in a poll response is one that the job got as its input, the relay asks the job's content path for the file", async () => {
    const { task, sentTo } = await repeated({ picture: input });
    expect(task).toMatchObject({ status: "completed", output: { urls: [LINK] } });
    expect(sentTo(`${job}/content`)).not.toEqual([]);
  });

  it("a link that one job got as its input can be an output of another job, which got another link", async () => {
    const { task } = await repeated({ picture: `${input}&c=3` });
    expect(task).toMatchObject({ output: { urls: [`${input}&c=3`] } });
  });
});

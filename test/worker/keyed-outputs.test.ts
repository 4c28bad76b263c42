import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { answerTo, call, callWith, refusal } from "./client.ts";
import { DAY_MS, pass, useClock } from "./clock.ts";
import { restart, untilIdle, wake } from "./objects.ts";
import { anOutside, answering, type Site } from "./outside.ts";

useClock();

const GATEWAY = "https://gateway.example.net";
const CONTENT = `${GATEWAY}/v1/videos/video_7/content`;
const KEY = "sk-test-only-gateway";
const CONNECTIONS = JSON.stringify({
  gateway: { provider: "openai-videos", key: KEY, base_url: GATEWAY },
});
const VIDEO = Uint8Array.from(`\0\0\0\x18ftypisom\0\0\0\0isomavc1${"v".repeat(500)}`, (char) =>
  char.charCodeAt(0),
);
const GONE = { status: 410, code: "output_gone" };
const Completed = z.looseObject({
  status: z.string(),
  output: z.object({ urls: z.array(z.string()) }),
});

/** Answers like a gateway that serves a part of the video to whoever has the key. */
const gateway: Site = ({ headers }) => {
  if (headers["authorization"] !== `Bearer ${KEY}`) return new Response(null, { status: 401 });
  const [, first = "0", last = ""] = /^bytes=(\d+)-(\d*)$/.exec(headers["range"] ?? "") ?? [];
  const from = Number(first);
  const part = VIDEO.slice(from, last === "" ? VIDEO.length : Number(last) + 1);
  const isPart = "range" in headers;
  const range = `bytes ${from}-${from + part.length - 1}/${VIDEO.length}`;
  return new Response(part, {
    status: isPart ? 206 : 200,
    headers: {
      "Content-Type": "text/html",
      "Content-Length": String(part.length),
      ...(isPart && { "Content-Range": range }),
    },
  });
};

/** Returns the bindings of a relay with the gateway, and with these variables. */
function bindings(vars: object = {}) {
  return { ...env, CONNECTIONS, ...vars };
}

/** Lets a poll find that the job of a task has succeeded with a link that opens only with the key. */
async function polled(vars: object = {}) {
  const outside = anOutside();
  const id = crypto.randomUUID();
  const all = bindings(vars);
  outside.on(`${GATEWAY}/v1/videos/video_7`, () =>
    Response.json({ id: "video_7", object: "video", status: "completed", url: CONTENT }),
  );
  outside.on(CONTENT, gateway);
  await restart(id, bindings());
  const body = { id, model: "m", provider: "gateway" };
  await callWith(bindings(), "/v1/tasks", { body });
  const job = { provider: "gateway", id: "video_7" };
  await callWith(bindings(), `/v1/tasks/${id}/upstream`, { body: job });
  await restart(id, all);
  await wake(id, 150_000);
  await untilIdle(id);
  const task: unknown = await (await call(`/v1/tasks/${id}`)).json();
  return { id, all, task, ...outside };
}

async function linked() {
  const { task, ...others } = await polled();
  const { output } = Completed.parse(task);
  const link = output.urls[0] ?? "";
  const open = (headers: Record<string, string> = {}, method = "GET") =>
    answerTo(new Request(link, { headers, method, redirect: "manual" }), others.all);
  return { ...others, link, open };
}

describe("an output that opens only with the key of its gateway, in a relay without a bucket", () => {
  it("an output that opens only with its gateway's key gets a link of the relay, which passes the file on with the content type of its bytes", async () => {
    const { link, open, sentTo } = await linked();
    expect(link).toMatch(/^https:\/\/relay\.example\.com\/outputs\/[\w-]+\/1\/[\w-]+\.bin$/);
    const response = await open();
    expect(response.status).toBe(200);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(VIDEO);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "access-control-allow-origin": "*",
      "cache-control": "no-store",
      "content-length": String(VIDEO.length),
      "content-type": "video/mp4",
      "x-content-type-options": "nosniff",
    });
    // The first request has asked for one byte, before the link counted as an output.
    expect(sentTo(CONTENT).map(({ headers }) => headers["range"])).toEqual([
      "bytes=0-0",
      undefined,
    ]);
  });

  it.each([
    ["from its beginning", "bytes=0-1", 0, 2],
    ["from its middle", "bytes=20-29", 20, 10],
    ["to its end", "bytes=500-", 500, VIDEO.length - 500],
  ])(
    "an output that opens only with its gateway's key is passed on in part when a Range asks for it %s, and each part has the type of the video",
    async (_, range, offset, length) => {
      const { open } = await linked();
      const response = await open({ Range: range });
      expect(response.status).toBe(206);
      expect(response.headers.get("Content-Type")).toBe("video/mp4");
      const end = offset + length - 1;
      expect(response.headers.get("Content-Range")).toBe(`bytes ${offset}-${end}/${VIDEO.length}`);
      const part = new Uint8Array(await response.arrayBuffer());
      expect(part).toEqual(VIDEO.subarray(offset, offset + length));
    },
  );

  it("an output that the relay passes on is sent whole when a request has Range and If-Range, because the relay knows no ETag of the upstream", async () => {
    const { open } = await linked();
    expect((await open({ Range: "bytes=0-9", "If-Range": '"a"' })).status).toBe(200);
  });

  it("a HEAD request for an output that opens only with its gateway's key gets no body", async () => {
    const { open } = await linked();
    const response = await open({}, "HEAD");
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(response.headers.get("Content-Length")).toBe(String(VIDEO.length));
  });

  it("when a gateway redirects the request for an output that opens only with its key, the relay follows without sending the key to the other host", async () => {
    const { open, on, sentTo } = await linked();
    on(CONTENT, answering(null, 302, { Location: "https://cdn.example.net/7.mp4" }));
    on("https://cdn.example.net/", () => new Response(VIDEO));
    expect((await open()).status).toBe(200);
    const [sent] = sentTo("https://cdn.example.net/");
    expect(Object.keys(sent?.headers ?? {})).not.toContain("authorization");
    expect(sentTo(CONTENT).at(-1)?.headers).toMatchObject({ authorization: `Bearer ${KEY}` });
  });

  it.each([
    [401, { status: 503, code: "unavailable" }],
    [404, GONE],
    [410, GONE],
    [500, { status: 503, code: "unavailable" }],
    [429, { status: 503, code: "unavailable" }],
  ])(
    "when the response of the gateway to a request for an output that opens only with its key is %i, the relay answers with %j",
    async (status, problem) => {
      const { open, on } = await linked();
      on(CONTENT, answering(null, status));
      expect(await refusal(await open())).toEqual(problem);
    },
  );

  it("when a gateway redirects the request for an output that opens only with its key to 127.0.0.1, the relay requests nothing there and answers 410", async () => {
    const { open, on, sentTo } = await linked();
    on(CONTENT, answering(null, 302, { Location: "http://127.0.0.1:1/" }));
    on("http://127.0.0.1", () => new Response(VIDEO));
    expect(await refusal(await open())).toEqual(GONE);
    expect(sentTo("http://127.0.0.1")).toEqual([]);
  });

  it("when a gateway does not state when its links expire, the relay passes the output on until the relay's own link expires", async () => {
    const { open } = await linked();
    pass(2 * DAY_MS);
    expect((await open()).status).toBe(200);
    pass(DAY_MS);
    expect(await refusal(await open())).toEqual(GONE);
  });

  it("without OUTPUTS_URL and PUBLIC_URL, a job whose output opens only with the gateway's key does not complete its task, because the relay can make no link to it", async () => {
    const { task } = await polled({ PUBLIC_URL: "" });
    expect(task).toMatchObject({ status: "pending", tracking: { answer: "no_output" } });
  });
});

describe("a video of Gemini, in a relay without a bucket", () => {
  const google = "https://generativelanguage.googleapis.com/v1beta";
  const download = `${google}/files/bx2q:download?alt=media`;
  const vars = { ...env, GEMINI_API_KEY: "test-only-gemini-key" };

  /** Lets a poll find that an interaction has completed with a video, and returns the link in the task's output. */
  async function completed(): Promise<string> {
    const outside = anOutside();
    const id = crypto.randomUUID();
    const content = [{ type: "video", mime_type: "video/mp4", uri: download }];
    const steps = [{ type: "model_output", content }];
    const interaction = { id: "v1_7", status: "completed", steps };
    outside.on(`${google}/interactions/v1_7`, answering(interaction));
    outside.on(`${google}/files/bx2q`, answering({ name: "files/bx2q", state: "ACTIVE" }));
    outside.on(download, ({ headers }) => {
      const hasKey = headers["x-goog-api-key"] === vars.GEMINI_API_KEY;
      return hasKey ? new Response(VIDEO) : new Response(null, { status: 403 });
    });
    await restart(id, vars);
    await callWith(vars, "/v1/tasks", { body: { id, model: "m", provider: "gemini" } });
    const job = { provider: "gemini", id: "v1_7" };
    await callWith(vars, `/v1/tasks/${id}/upstream`, { body: job });
    await wake(id, 150_000);
    await untilIdle(id);
    const { status, output } = Completed.parse(await (await call(`/v1/tasks/${id}`)).json());
    expect(status).toBe("completed");
    return output.urls[0] ?? "";
  }

  it("in a relay without a bucket, a video of Gemini gets a link of the relay, which fetches the video with the key in x-goog-api-key", async () => {
    const link = await completed();
    expect(link).toMatch(/^https:\/\/relay\.example\.com\/outputs\//);
    const response = await answerTo(new Request(link), vars);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(VIDEO);
  });

  it("a video of Gemini can no longer be opened after the 48 hours for which Google keeps it, although the relay's link expires later", async () => {
    const link = await completed();
    pass(2 * DAY_MS - 60_000);
    expect((await answerTo(new Request(link), vars)).status).toBe(200);
    pass(60_000);
    expect(await refusal(await answerTo(new Request(link), vars))).toEqual(GONE);
  });
});

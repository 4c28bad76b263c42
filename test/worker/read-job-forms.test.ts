import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { aRequest, callWith, OPERATOR_KEY, ORIGIN } from "./client.ts";
import { pass, realMs, until, useClock } from "./clock.ts";
import { untilIdle } from "./objects.ts";
import { answering, anOutside, type Outside, type Site } from "./outside.ts";
import { isolateOf } from "./isolates.ts";
import { answerFrom } from "./started.ts";
import { BINDINGS, named, readSubmitted, submit } from "./submitted.ts";
import { CALLBACK_URL, VIDEO } from "./tasks.ts";
import { holdTimers } from "./timers.ts";

useClock();

const DECLARED = {
  provider: "generic",
  base_url: "https://gpu.example.org/api",
  key: "k",
  auth: "Authorization: Bearer {key}",
  submit: { path: "/jobs", id: "/id" },
  poll: { path: "/jobs/{id}/state?full=1", state: "/state" },
};
const POSTED = {
  ...DECLARED,
  poll: { ...DECLARED.poll, path: "/ask", method: "POST", body: "{id}" },
};
const RELAY = {
  ...BINDINGS,
  ...env,
  PUBLIC_URL: ORIGIN,
  BFL_API_KEY: "test-only-bfl-key",
  FAL_KEY: "test-only-fal-key",
  KIE_API_KEY: "test-only-kie-key",
  KLING_API_KEY: "test-only-kling-key",
  OPENROUTER_API_KEY: "test-only-openrouter-key",
  CONNECTIONS: JSON.stringify({ gpu: DECLARED, posted: POSTED }),
};

/** Submits a job below a base URL of a fake upstream. @returns the task's id, the answer as JSON, and the upstream. */
async function submitted(
  connection: string,
  base: string,
  path: string,
  answer: object,
  site: Site,
) {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(base, (sent, signal) =>
    sent.method === "POST" ? Response.json(answer) : site(sent, signal),
  );
  const { id, headers } = named();
  const response = await submit({
    path: `/v1/submit/${connection}${path}`,
    body: JSON.stringify({ model: "fox", model_name: "fox", prompt: "a fox" }),
    bindings: RELAY,
    headers,
  });
  expect(response.status).toBe(200);
  return { id, answer: await response.json(), outside };
}

/** Reads a job as the SDK of an upstream does. */
function read(connection: string, target: string): Promise<Response> {
  return callWith(RELAY, `/v1/submit/${connection}${target}`, { key: OPERATOR_KEY });
}

/** Opens a stream of fal, of which only the test reads. */
async function streamed(target: string): Promise<Response> {
  const request = aRequest(`/v1/submit/fal${target}`, { key: OPERATOR_KEY });
  return answerFrom(await isolateOf(RELAY), request);
}

/** Returns what was asked below a base URL by `GET`. */
function asked(outside: Outside, base: string): readonly string[] {
  return outside
    .sentTo(base)
    .flatMap(({ method, url }) => (method === "GET" ? url.slice(base.length) : []));
}

const QUEUE = "https://queue.fal.run";
const FLUX = "/fal-ai/flux/requests";
const newId = () => crypto.randomUUID();

/** Returns the links of a request as fal states them, below an origin. */
function linksAt(base: string, id: string) {
  const request = `${base}${FLUX}/${id}`;
  return {
    response_url: request,
    status_url: `${request}/status`,
    cancel_url: `${request}/cancel`,
  };
}

/** Submits a request to fal, whose status is what `status` returns. */
async function onFal(status: () => object) {
  const id = newId();
  const links = linksAt(QUEUE, id);
  const site: Site = ({ url }) =>
    url.includes("/status")
      ? Response.json({ ...status(), ...links })
      : Response.json({ video: { url: VIDEO } });
  const made = await submitted(
    "fal",
    QUEUE,
    "/fal-ai/flux/dev",
    { request_id: id, ...links },
    site,
  );
  return { ...made, jobId: id };
}

describe("a job of fal", () => {
  it("a job of fal is read at fal's paths for status and result, with the caller's query parameter logs and no other", async () => {
    const { jobId, id, outside } = await onFal(() => ({ status: "COMPLETED" }));
    const status = await read("fal", `${FLUX}/${jobId}/status?logs=1&token=x`);
    expect(await status.json()).toMatchObject({ status: "COMPLETED" });
    expect(await (await read("fal", `${FLUX}/${jobId}`)).json()).toEqual({ video: { url: VIDEO } });
    expect(asked(outside, QUEUE)).toEqual([`${FLUX}/${jobId}/status?logs=1`, `${FLUX}/${jobId}`]);
    pass(1_001);
    await read("fal", `${FLUX}/${jobId}/status`);
    await untilIdle(id);
    expect(await readSubmitted(id, RELAY)).toMatchObject({ status: "completed" });
  });

  it("when the status and the result of a fal job are read many times within the shortest time between two polls, each of the two paths is asked once", async () => {
    const { jobId, outside } = await onFal(() => ({ status: "IN_PROGRESS" }));
    const paths = [`${FLUX}/${jobId}/status`, `${FLUX}/${jobId}`];
    const readAll = () =>
      Promise.all(Array.from({ length: 20 }, (_, nth) => read("fal", paths[nth % 2] ?? "")));
    const answers = await readAll();
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(asked(outside, QUEUE).toSorted()).toEqual(paths.toSorted());
    pass(1_001);
    await readAll();
    expect(asked(outside, QUEUE).toSorted()).toEqual([...paths, ...paths].toSorted());
  });

  it("the responses to the submission and to a read of a fal job have links to status and result that lead to the relay", async () => {
    const { jobId, answer } = await onFal(() => ({ status: "IN_QUEUE" }));
    const there = linksAt(`${ORIGIN}/v1/submit/fal`, jobId);
    const expected = { response_url: there.response_url, status_url: there.status_url };
    expect(answer).toMatchObject(expected);
    expect(await (await read("fal", `${FLUX}/${jobId}/status`)).json()).toMatchObject(expected);
  });

  it("a read of a fal job at the path of another app gets 404, and no request is sent to fal", async () => {
    const { jobId, outside } = await onFal(() => ({ status: "IN_QUEUE" }));
    for (const app of ["/fal-ai/other", "/fal-ai/flux-2", "/fal-ai/flux/dev/more", "/other/flux"]) {
      const response = await read("fal", `${app}/requests/${jobId}/status`);
      expect([response.status, await response.json()]).toEqual([
        404,
        { detail: expect.any(String) },
      ]);
    }
    expect(asked(outside, QUEUE)).toEqual([]);
  });

  it("a reader of a fal job's stream gets each new status once, as an event, although the relay asks fal again and again; the stream ends with COMPLETED", async () => {
    let status: object = { status: "IN_QUEUE", queue_position: 1 };
    const { jobId, outside } = await onFal(() => status);
    const passTime = holdTimers(1_000);
    const response = await streamed(`${FLUX}/${jobId}/status/stream?logs=0`);
    expect(response.headers.get("Content-Type")).toBe("text/event-stream");
    const text = response.text();
    const requests = () => asked(outside, QUEUE).length;
    await until(() => requests() === 1);
    for (const [nth, next] of [
      status,
      { status: "IN_PROGRESS" },
      { status: "COMPLETED" },
    ].entries()) {
      status = next;
      pass(1_001);
      await until(() => (passTime(), requests() >= nth + 2));
    }
    const links = linksAt(`${ORIGIN}/v1/submit/fal`, jobId);
    const events = (await text).split("\n\n").filter((event) => event !== "");
    const statuses = events.map((event) =>
      z.looseObject({}).parse(JSON.parse(event.slice("data: ".length))),
    );
    expect(statuses.map((each) => each["status"])).toEqual([
      "IN_QUEUE",
      "IN_PROGRESS",
      "COMPLETED",
    ]);
    expect(statuses.at(-1)).toMatchObject({ status_url: links.status_url });
    expect(asked(outside, QUEUE)).toEqual(
      Array.from({ length: 4 }, () => `${FLUX}/${jobId}/status?logs=0`),
    );
  });

  it("once the reader of a fal job's stream has gone, the relay no longer asks fal about the job", async () => {
    const { jobId, outside } = await onFal(() => ({ status: "IN_QUEUE" }));
    const passTime = holdTimers(1_000);
    const response = await streamed(`${FLUX}/${jobId}/status/stream`);
    const reader = response.body?.getReader();
    await reader?.read();
    const next = reader?.read();
    await realMs(20);
    pass(1_001);
    await reader?.cancel();
    await next;
    passTime();
    await realMs(50);
    expect(asked(outside, QUEUE)).toHaveLength(1);
  });

  it("GET of the stream of a fal job gets 404 when no job with this id was submitted through the relay", async () => {
    await onFal(() => ({ status: "IN_QUEUE" }));
    const response = await read("fal", `${FLUX}/made-up/status/stream`);
    expect([response.status, await response.json()]).toEqual([404, { detail: expect.any(String) }]);
  });
});

it("BFL's polling_url, which names a regional host, becomes a URL of the relay, which reads the job at the connection's own host", async () => {
  const base = "https://api.bfl.ai";
  const id = newId();
  const accepted = { id, polling_url: `https://api.us1.bfl.ai/v1/get_result?id=${id}` };
  const site = answering({ id, status: "Pending" });
  const { answer, outside } = await submitted("bfl", base, "/v1/flux-2-pro", accepted, site);
  const target = `/v1/get_result?id=${id}`;
  expect(answer).toEqual({ id, polling_url: `${ORIGIN}/v1/submit/bfl${target}` });
  expect(await (await read("bfl", target)).json()).toEqual({ id, status: "Pending" });
  expect(asked(outside, base)).toEqual([target]);
  expect(outside.sentTo("https://api.us1.bfl.ai")).toEqual([]);
});

it.each([
  (id: string) => `https://evil.example/v1/get_result?id=${id}`,
  (id: string) => `https://api.bfl.ai@evil.example/v1/get_result?id=${id}`,
  (id: string) => `https://api.us1.bfl.ai.evil.example/v1/get_result?id=${id}`,
  (id: string) => `https://evil.example/api.bfl.ai/v1/get_result?id=${id}`,
  (id: string) => `https://me:pass@api.bfl.ai/v1/get_result?id=${id}`,
  (id: string) => `https://api.bfl.ai:8443/v1/get_result?id=${id}`,
  (id: string) => `http://api.bfl.ai/v1/get_result?id=${id}`,
  (id: string) => `//evil.example/v1/get_result?id=${id}`,
  (id: string) => `/\\evil.example/v1/get_result?id=${id}`,
])(
  "a link to the job that leads to another host, port or scheme than the upstream's own, or has a user name, is passed on unchanged and never requested: %s",
  async (linkTo) => {
    const base = "https://api.bfl.ai";
    const id = newId();
    const accepted = { id, polling_url: linkTo(id) };
    const site = answering({ ...accepted, status: "Pending" });
    const { answer, outside } = await submitted("bfl", base, "/v1/flux-2-pro", accepted, site);
    expect(answer).toEqual(accepted);
    const target = `/v1/get_result?id=${id}`;
    expect(await (await read("bfl", target)).json()).toEqual({ ...accepted, status: "Pending" });
    const requests = outside.sentTo("").map(({ url }) => url);
    expect(requests).toEqual([`${base}/v1/flux-2-pro`, `${base}${target}`]);
  },
);

it("the polling_url of OpenRouter, which is a path without a host, becomes the path at the relay that reads the job", async () => {
  const base = "https://openrouter.ai";
  const id = newId();
  const accepted = { id, polling_url: `/api/v1/videos/${id}`, status: "pending" };
  const { answer } = await submitted("openrouter", base, "/api/v1/videos", accepted, answering({}));
  expect(answer).toEqual({ ...accepted, polling_url: `/v1/submit/openrouter/api/v1/videos/${id}` });
});

it("when an upstream takes the job id in the query, a read works even for an id with a slash, and ignores a second id", async () => {
  const base = "https://api.kie.ai";
  const id = `${newId()}/1`;
  const report = { code: 200, msg: "success", data: { taskId: id, state: "waiting" } };
  const site = answering(report);
  const { outside } = await submitted("kie", base, "/api/v1/jobs/createTask", report, site);
  const target = `/api/v1/jobs/recordInfo?taskId=${encodeURIComponent(id)}`;
  expect(await (await read("kie", `${target}&taskId=other&page=2`)).json()).toEqual(report);
  expect(asked(outside, base)).toEqual([target]);
  const unknown = await read(
    "kie",
    `/api/v1/jobs/recordInfo?taskId=other&taskId=${encodeURIComponent(id)}`,
  );
  expect(await unknown.json()).toMatchObject({ code: 404, data: null });
  expect(asked(outside, base)).toEqual([target]);
});

it("a job of Kling's classic API can only be read at the path of the kind of generation that was submitted", async () => {
  const base = "https://api-singapore.klingai.com";
  const id = newId();
  const report = {
    code: 0,
    message: "SUCCEED",
    request_id: "r",
    data: { task_id: id, task_status: "submitted" },
  };
  const path = "/v1/videos/text2video";
  const { outside } = await submitted("kling", base, path, report, answering(report));
  for (const other of ["/v1/videos/image2video", "/v1/images/generations"]) {
    expect((await read("kling", `${other}/${id}`)).status).toBe(404);
  }
  expect(asked(outside, base)).toEqual([]);
  expect(await (await read("kling", `${path}/${id}`)).json()).toEqual(report);
  expect(asked(outside, base)).toEqual([`${path}/${id}`]);
});

describe("a job of a declared upstream", () => {
  const base = "https://gpu.example.org/api";

  it("a client reads a job of an upstream declared in CONNECTIONS at the path and with the query declared for polls, and a read that finds a result ends the task", async () => {
    const id = newId();
    const done = { id, state: "done", url: VIDEO };
    const made = await submitted("gpu", base, "/jobs", { id }, answering(done));
    expect(await (await read("gpu", `/jobs/${id}/state`)).json()).toEqual(done);
    expect(asked(made.outside, base)).toEqual([`/jobs/${id}/state?full=1`]);
    expect((await read("gpu", `/jobs/${id}/state?full=0`)).status).toBe(404);
    await untilIdle(made.id);
    expect(await readSubmitted(made.id, RELAY)).toMatchObject({ status: "completed" });
  });

  it("when CONNECTIONS declares that an upstream is polled by POST, a client's GET at the path of the polls gets 404 with a text that says so", async () => {
    const id = newId();
    const { outside } = await submitted("posted", base, "/jobs", { id }, answering({}));
    const response = await read("posted", `/ask`);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("answers no GET");
    expect(asked(outside, base)).toEqual([]);
  });
});

it("a read at another path than that of polls, which says that the job has ended, causes a poll: a video of new-api is completed and its content is there at once", async () => {
  const jobId = "task_0123456789abcdef";
  const base = "https://gateway.example.org";
  const running = { id: jobId, object: "video", model: "fox", status: "queued" };
  const task = { task_id: jobId, status: "SUCCESS", result_url: VIDEO, progress: "100%" };
  const polled = { code: "success", message: "", data: task };
  const { id, outside } = await submitted("newapi", base, "/v1/videos", running, ({ url }) =>
    Response.json(url.includes("/v1/videos/") ? { ...running, status: "completed" } : polled),
  );
  expect((await read("newapi", `/v1/videos/${jobId}`)).status).toBe(200);
  const content = await read("newapi", `/v1/videos/${jobId}/content`);
  expect([content.status, content.headers.get("Location")]).toEqual([302, VIDEO]);
  await untilIdle(id);
  expect(await readSubmitted(id, RELAY)).toMatchObject({ status: "completed" });
  expect(asked(outside, base)).toEqual([`/v1/videos/${jobId}`, `/v1/video/generations/${jobId}`]);
});

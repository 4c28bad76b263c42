import { expect, it } from "vitest";
import { aKey, anAccount } from "../worker/accounts.ts";
import { callWith, OPERATOR_KEY, ORIGIN } from "../worker/client.ts";
import { realMs, useClock } from "../worker/clock.ts";
import { aSubmittedTask, callJob } from "../worker/job-calls.ts";
import { untilIdle } from "../worker/objects.ts";
import { aRateLimit } from "../worker/rate-limits.ts";
import { anOutside, answering, type Outside, type Site } from "../worker/outside.ts";
import { copiesOf, copy, received, sending, VIDEO_BYTES } from "./copied.ts";
import { GATEWAY, KEY, WITH_BUCKET, WITHOUT_BUCKET } from "./keyed.ts";
import { bytesIn } from "./linked.ts";

useClock();

const VIDEOS = `${GATEWAY}/v1/videos`;
const FOUND = "https://cdn.example.net/found.mp4";
const OFFERS = JSON.stringify([{ connection: "openai-videos", models: ["*"] }]);
/** A relay that knows its address, and so makes links of its own. */
const LINKING = { ...WITHOUT_BUCKET, PUBLIC_URL: ORIGIN, OFFERS };
/** A relay that does not know its address, so that it can make no links. */
const UNLINKING = { ...LINKING, PUBLIC_URL: undefined, OUTPUTS_URL: undefined };
const KEEPING = { ...LINKING, OUTPUTS: WITH_BUCKET.OUTPUTS };

/** What an upstream states of a video, given the link to its content. */
type State = (url: string) => object;
const completed: State = (url) => ({ status: "completed", url });
const found: State = () => ({ status: "completed", url: FOUND });

interface Submitted {
  readonly taskId: string;
  readonly upstream: Outside;
  /** Address of the content at the upstream. */
  readonly there: string;
  /** Path of the content below the base URL. */
  readonly path: string;
  /** Reads the video as the SDK does while it waits. */
  readonly poll: () => Promise<unknown>;
  readonly content: (headers?: Record<string, string>) => Promise<Response>;
}

/** Submits a video whose upstream states this, and sends its file like `file`. */
async function aVideo(
  state: State,
  bindings: object = LINKING,
  key: string = OPERATOR_KEY,
  file: Site = sending(VIDEO_BYTES),
): Promise<Submitted> {
  const id = `video_${crypto.randomUUID()}`;
  const there = `${VIDEOS}/${id}/content`;
  const upstream = anOutside();
  upstream.on("https://client.example.net/", () => new Response());
  upstream.on(VIDEOS, ({ method }) => {
    const now = method === "POST" ? { status: "queued" } : state(there);
    return Response.json({ id, object: "video", ...now });
  });
  upstream.on(there, received(file));
  const body = { model: "sora-2", prompt: "a fox" };
  const call = { connection: "openai-videos", path: "/v1/videos", body, bindings, key };
  const taskId = await aSubmittedTask(call);
  const path = `/v1/videos/${id}/content`;
  const get = (each: string, headers: Record<string, string> = {}) =>
    callJob("openai-videos", each, { key, headers }, bindings);
  return {
    taskId,
    upstream,
    there,
    path,
    poll: async () => await (await get(`/v1/videos/${id}`)).json(),
    content: (headers = {}) => get(path, headers),
  };
}

it("GET /v1/videos/{id}/content of a completed video answers with the file that the relay fetches from the upstream with the connection's key", async () => {
  const { upstream, there, poll, content } = await aVideo(completed);
  expect(await poll()).toMatchObject({ status: "completed" });
  const response = await content();
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe("video/mp4");
  expect(await bytesIn(response)).toEqual(VIDEO_BYTES);
  const asked = upstream.sentTo(there).at(-1);
  expect(asked?.headers["authorization"]).toBe(`Bearer ${KEY}`);
});

it("GET /v1/videos/{id}/content right after GET /v1/videos/{id} showed the video as completed waits until the task is completed, too, and then answers with the file", async () => {
  const isAsked = Promise.withResolvers<void>();
  const file: Site = async (sent, signal) => {
    if (sent.headers["range"] === "bytes=0-0") await isAsked.promise;
    return await sending(VIDEO_BYTES)(sent, signal);
  };
  const { poll, content } = await aVideo(completed, LINKING, OPERATOR_KEY, file);
  await poll();
  let isAnswered = false;
  const answer = content().finally(() => (isAnswered = true));
  await realMs(100);
  expect(isAnswered).toBe(false);
  isAsked.resolve();
  expect(await bytesIn(await answer)).toEqual(VIDEO_BYTES);
});

it("a header Range of GET /v1/videos/{id}/content is passed on to the upstream, whose part of the file is answered with 206", async () => {
  const part = VIDEO_BYTES.slice(100, 200);
  const site: Site = ({ headers }) => {
    if (headers["range"] !== "bytes=100-199") return new Response(VIDEO_BYTES);
    const range = `bytes 100-199/${VIDEO_BYTES.length}`;
    return new Response(part, {
      status: 206,
      headers: { "Content-Range": range, "Content-Length": "100" },
    });
  };
  const { poll, content } = await aVideo(completed, LINKING, OPERATOR_KEY, site);
  await poll();
  const response = await content({ Range: "bytes=100-199" });
  expect(response.status).toBe(206);
  expect(response.headers.get("Content-Range")).toBe(`bytes 100-199/${VIDEO_BYTES.length}`);
  expect(await bytesIn(response)).toEqual(part);
});

it("when the relay has a copy of a video, GET /v1/videos/{id}/content answers with the copy, without a request to the upstream", async () => {
  const { taskId, upstream, poll, content } = await aVideo(found, KEEPING);
  upstream.on(FOUND, received(sending(VIDEO_BYTES)));
  await poll();
  await untilIdle(taskId);
  await copy(taskId);
  expect(await copiesOf(taskId)).toHaveLength(1);
  const before = upstream.sentTo("https://").length;
  const response = await content({ Range: "bytes=0-3" });
  expect([response.status, await bytesIn(response)]).toEqual([206, VIDEO_BYTES.slice(0, 4)]);
  expect(await bytesIn(await content())).toEqual(VIDEO_BYTES);
  expect(upstream.sentTo("https://")).toHaveLength(before);
});

it("when the upstream's link to a video opens without a key, GET /v1/videos/{id}/content redirects to it, and the relay sends no request there", async () => {
  const { upstream, poll, content } = await aVideo(found);
  await poll();
  const response = await content();
  expect([response.status, response.headers.get("Location")]).toEqual([302, FOUND]);
  expect(upstream.sentTo(FOUND)).toEqual([]);
});

it("when GET /v1/videos/{id}/content has the caller's key for the relay in the header Relay-Key, the relay fetches the upstream's link itself, without any key, and does not redirect", async () => {
  const { upstream, poll, content } = await aVideo(found);
  upstream.on(FOUND, received(sending(VIDEO_BYTES)));
  await poll();
  const response = await content({ Authorization: `Bearer ${KEY}`, "Relay-Key": OPERATOR_KEY });
  expect([response.status, await bytesIn(response)]).toEqual([200, VIDEO_BYTES]);
  const [asked] = upstream.sentTo(FOUND);
  expect(asked?.headers["authorization"]).toBeUndefined();
  expect(JSON.stringify(asked?.headers)).not.toContain(OPERATOR_KEY);
});

it("for GET /v1/videos/{id}/content, the relay sends the connection's key only to the upstream's path for this job, not to a link that an event has reported", async () => {
  const { taskId, upstream, there, content } = await aVideo(() => ({ status: "in_progress" }));
  const reported = `${VIDEOS}/video_of_another/content`;
  const result = { id: taskId, status: "completed", output: { urls: [reported] } };
  await callWith(LINKING, "/v1/events", { body: result });
  expect(await bytesIn(await content())).toEqual(VIDEO_BYTES);
  expect(upstream.sentTo(there).at(-1)?.headers["authorization"]).toBe(`Bearer ${KEY}`);
  expect(upstream.sentTo(reported)).toEqual([]);
});

it("GET /v1/videos/{id}/content answers 404 when the video opens only with a key and the relay cannot make a link of its own, for lack of PUBLIC_URL", async () => {
  const { poll, content } = await aVideo(completed, UNLINKING);
  await poll();
  expect((await content()).status).toBe(404);
});

it("GET /v1/videos/{id}/content of a video that is still being made or has failed answers 404 in the upstream's error format, without a request for the file", async () => {
  for (const status of ["in_progress", "failed"]) {
    const { upstream, there, poll, content } = await aVideo(() => ({ status }));
    await poll();
    const response = await content();
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
    expect(upstream.sentTo(there)).toEqual([]);
  }
});

it("GET /v1/videos/{id}/content answers 410 in the upstream's error format when the upstream does not have the file any more", async () => {
  const { poll, content, upstream, there } = await aVideo(completed);
  await poll();
  await content();
  upstream.on(there, answering({ error: { message: "gone" } }, 404));
  const response = await content();
  expect(response.status).toBe(410);
  expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
});

it("GET /v1/videos/{id}/content answers 400 or 404, without a request to the upstream, for another account's video, an unknown video and a wrong path", async () => {
  const { key } = await aKey(await anAccount());
  const { key: foreign } = await aKey(await anAccount());
  const { upstream, there, path, poll } = await aVideo(completed, LINKING, key);
  await poll();
  const before = upstream.sentTo(there).length;
  const made = "/v1/videos/video_made-up/content";
  for (const response of [
    await callJob("openai-videos", path, { key: foreign }, LINKING),
    await callJob("openai-videos", made, { key }, LINKING),
    await callJob("openai-videos", made, {}, LINKING),
    await callJob("openai-videos", path.replace("/video_", "/..%2fvideo_"), { key }, LINKING),
    await callJob("openai-videos", path.replace("videos", "files"), { key }, LINKING),
  ]) {
    expect([400, 404]).toContain(response.status);
    await response.body?.cancel();
  }
  expect(upstream.sentTo(there)).toHaveLength(before);
  expect((await callJob("openai-videos", path, { key: null }, LINKING)).status).toBe(401);
  const own = await callJob("openai-videos", path, { key }, LINKING);
  expect(await bytesIn(own)).toEqual(VIDEO_BYTES);
});

it("requests of GET /v1/videos/{id}/content count in LIMIT_LINKS, and one beyond the limit is answered 429 in the upstream's error format", async () => {
  const limited = { ...LINKING, LIMIT_LINKS: aRateLimit(1) };
  const { there, upstream, poll, content } = await aVideo(completed, limited);
  await poll();
  expect(await bytesIn(await content())).toEqual(VIDEO_BYTES);
  const before = upstream.sentTo(there).length;
  const response = await content();
  expect(response.status).toBe(429);
  expect(response.headers.get("Retry-After")).toBe("60");
  expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
  expect(upstream.sentTo(there)).toHaveLength(before);
});

it("HEAD /v1/videos/{id}/content answers with the headers of GET, such as Content-Length, and without a body", async () => {
  const { path, poll } = await aVideo(completed);
  await poll();
  const response = await callJob("openai-videos", path, { method: "HEAD" }, LINKING);
  expect([response.status, response.body]).toEqual([200, null]);
  expect(response.headers.get("Content-Length")).toBe(String(VIDEO_BYTES.length));
});

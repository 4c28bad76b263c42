import { expect, it, vi } from "vitest";
import { BODY_DEADLINE_MS } from "../../src/api/http/body.ts";
import { useClock } from "./clock.ts";
import { callWith, refusal } from "./client.ts";
import { NOTHING, stored } from "./objects.ts";
import { answering } from "./outside.ts";
import {
  anArk,
  ARK,
  BINDINGS,
  BODY,
  MODEL,
  named,
  readSubmitted,
  sentToArk,
  submit,
} from "./submitted.ts";
import { holdTimers } from "./timers.ts";

useClock();

const VIDEOS = "https://videos.example.org";
const MIB = 1024 * 1024;

/** Returns a JSON body of about this many bytes. */
function aBodyOf(bytes: number): string {
  return JSON.stringify({ model: MODEL, image: "x".repeat(bytes) });
}

/** Returns a body without a declared length that sends its last byte when `end` is called. */
function anOpenBody(start: string) {
  const { readable: body, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  void writer.write(encoder.encode(start)).catch(() => undefined);
  const end = () => {
    void writer.write(encoder.encode("}")).catch(() => undefined);
    void writer.close().catch(() => undefined);
  };
  return { body, end };
}

it("the multipart body of a submission is passed on byte for byte when the upstream accepts multipart", async () => {
  const outside = anArk();
  outside.on(VIDEOS, answering({ id: "video_1", object: "video", status: "queued" }));
  const body = `--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\na fox\r\n--b--\r\n`;
  const { id, headers } = named({ "Content-Type": "multipart/form-data; boundary=b" });
  const response = await submit({ path: "/v1/submit/openai-videos/v1/videos", body, headers });
  expect(response.status).toBe(200);
  const [sent] = outside.sentTo(VIDEOS);
  expect([sent?.body, sent?.headers["content-type"]]).toEqual([
    body,
    "multipart/form-data; boundary=b",
  ]);
  expect(await readSubmitted(id)).toMatchObject({ upstream: { id: "video_1" } });
});

/** Returns a form with a file of this many bytes and a model, in this order or the other way round. */
function aFormWith(fileBytes: number, isFileFirst: boolean): string {
  const file = `--b\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n${"x".repeat(fileBytes)}\r\n`;
  const model = `--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nsora-2\r\n`;
  return `${isFileFirst ? file + model : model + file}--b--\r\n`;
}

it.each([
  ["before a file of 200 KB", aFormWith(200_000, false), "sora-2"],
  ["after a file of 10 KB", aFormWith(10_000, true), "sora-2"],
  ["after a file of 200 KB, which is not read that far", aFormWith(200_000, true), "openai-videos"],
  ["in a form without its end", aFormWith(10, false).replace("--b--", ""), "sora-2"],
  ["with a line break in place of a name", "--b\r\n\r\nsora-2\r\n--b--\r\n", "openai-videos"],
])(
  "the task of a submission with a multipart body has the model in it or, where none is found, the name of the provider, and the body is passed on byte for byte: %s",
  async (_, body, model) => {
    const outside = anArk();
    outside.on(VIDEOS, answering({ id: "video_1", object: "video", status: "queued" }));
    const { id, headers } = named({ "Content-Type": "multipart/form-data; boundary=b" });
    const path = "/v1/submit/openai-videos/v1/videos";
    const other = { ...headers, "Relay-Task-Id": crypto.randomUUID() };
    for (const own of [headers, { ...other, "Content-Length": `${body.length}` }]) {
      expect((await submit({ path, body, headers: own })).status).toBe(200);
    }
    expect(outside.sentTo(VIDEOS).map((each) => each.body)).toEqual([body, body]);
    expect(await readSubmitted(id)).toMatchObject({ model });
  },
);

it("the multipart body of a submission is refused when the upstream accepts only JSON", async () => {
  const outside = anArk();
  const { headers } = named({ "Content-Type": "multipart/form-data; boundary=b" });
  expect(await refusal(await submit({ body: "--b--", headers }))).toMatchObject({
    status: 400,
    paths: ["/Content-Type"],
  });
  expect(outside.sentTo(ARK)).toEqual([]);
});

it.each([
  ["that of a form, as curl sets it,", "application/x-www-form-urlencoded"],
  ["that of a form with a parameter named json", "application/x-www-form-urlencoded; json"],
  ["that of JSON with another charset", "application/json; charset=utf-7"],
])(
  "the JSON body of a submission whose Content-Type is %s reaches the upstream as application/json",
  async (_, type) => {
    const outside = anArk();
    const { headers } = named({ "Content-Type": type });
    expect((await submit({ headers })).status).toBe(200);
    expect(sentToArk(outside).headers["content-type"]).toBe("application/json");
  },
);

it("a submission with a body larger than MAX_SUBMIT_MB gets 413, with and without a Content-Length", async () => {
  const outside = anArk();
  const bindings = { ...BINDINGS, MAX_SUBMIT_MB: "1" };
  const { id, headers } = named();
  const body = aBodyOf(MIB);
  expect(await refusal(await submit({ bindings, headers, body }))).toMatchObject({ status: 413 });
  const { body: open, end } = anOpenBody(body);
  end();
  expect(await refusal(await submit({ bindings, headers, body: open }))).toMatchObject({
    status: 413,
  });
  expect([outside.sentTo(ARK), await stored(id)]).toEqual([[], NOTHING]);
});

it("a submission with a compressed body is refused, because the relay has to read the body", async () => {
  anArk();
  const { headers } = named({ "Content-Encoding": "gzip" });
  expect(await refusal(await submit({ headers }))).toMatchObject({
    status: 400,
    paths: ["/Content-Encoding"],
  });
});

it("while the bodies of other submissions fill the memory for bodies, another large submission gets 503 before anything is stored", async () => {
  const outside = anArk();
  const held = [1, 2].map(() => anOpenBody(aBodyOf(11 * MIB).slice(0, -1)));
  const calls = held.map(({ body }) => submit({ body, headers: named().headers }));
  const { id, headers } = named();
  await expect
    .poll(async () => (await submit({ headers, body: aBodyOf(3 * MIB) })).status)
    .toBe(503);
  expect(await stored(id)).toEqual(NOTHING);
  for (const { end } of held) end();
  for (const call of calls) expect((await call).status).toBe(200);
  expect((await submit({ headers, body: aBodyOf(3 * MIB) })).status).toBe(200);
  expect(outside.sentTo(ARK)).toHaveLength(3);
});

it("while two large submissions whose bodies have partly arrived take all the memory for bodies, a small submission succeeds", async () => {
  const outside = anArk();
  const held = [1, 2].map(() => anOpenBody(aBodyOf(11 * MIB).slice(0, -1)));
  const large = { "Content-Length": String(16 * MIB) };
  const calls = held.map(({ body }) => submit({ body, headers: { ...named().headers, ...large } }));
  await expect
    .poll(async () => (await submit({ headers: named().headers, body: aBodyOf(3 * MIB) })).status)
    .toBe(503);
  expect((await submit({ body: aBodyOf(60 * 1024) })).status).toBe(200);
  for (const { end } of held) end();
  for (const call of calls) expect((await call).status).toBe(200);
  expect(outside.sentTo(ARK)).toHaveLength(3);
});

it("a submission of whose body only one byte has arrived takes no memory for bodies yet, whatever Content-Length it states", async () => {
  anArk();
  const idle = [1, 2, 3].map(() => anOpenBody("{"));
  const headers = { "Content-Length": String(16 * MIB) };
  const calls = idle.map(({ body }) => submit({ body, headers }));
  expect((await submit({ body: aBodyOf(3 * MIB) })).status).toBe(200);
  for (const { end } of idle) end();
  for (const call of calls) expect((await call).status).toBe(400);
});

it("a submission whose multipart body names no model within 30 seconds gets 408, the reading of its body is canceled, and nothing is stored or sent", async () => {
  const outside = anArk();
  const passTime = holdTimers(BODY_DEADLINE_MS);
  const cancelled = vi.fn();
  const start = new TextEncoder().encode("--b\r\nContent-Disposition: form-data; name=");
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(start),
    cancel: cancelled,
  });
  const { id, headers } = named({ "Content-Type": "multipart/form-data; boundary=b" });
  const call = submit({ path: "/v1/submit/openai-videos/v1/videos", body, headers });
  await expect.poll(() => body.locked).toBe(true);
  passTime();
  expect(await refusal(await call)).toEqual({ status: 408, code: "body_timeout" });
  expect([outside.sentTo(VIDEOS), await stored(id)]).toEqual([[], NOTHING]);
  expect(cancelled).toHaveBeenCalledOnce();
});

it("a submission whose body has not ended after 30 seconds gets 408, the reading of its body is canceled, and nothing is stored or sent", async () => {
  const outside = anArk();
  const passTime = holdTimers(BODY_DEADLINE_MS);
  const cancelled = vi.fn();
  const start = new TextEncoder().encode(aBodyOf(3 * MIB).slice(0, -1));
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(start),
    cancel: cancelled,
  });
  const { id, headers } = named();
  const call = submit({ body, headers });
  await expect.poll(() => body.locked).toBe(true);
  passTime();
  const response = await call;
  expect(await response.clone().json()).toMatchObject({
    detail: expect.stringContaining("30 seconds"),
  });
  expect(await refusal(response)).toEqual({ status: 408, code: "body_timeout" });
  expect([outside.sentTo(ARK), await stored(id)]).toEqual([[], NOTHING]);
  expect(cancelled).toHaveBeenCalledOnce();
});

it("a submission that the upstream answers at once with the outputs completes its task", async () => {
  const outside = anArk();
  const image = "https://cdn.example.net/fox.png";
  outside.on(VIDEOS, answering({ created: 1, data: [{ url: image }] }));
  const { id, headers } = named();
  const path = "/v1/submit/openai-videos/v1/images/generations";
  const body = JSON.stringify({ model: "gpt-image-1", prompt: "a fox" });
  const response = await submit({ path, body, headers });
  expect([response.status, await response.json()]).toEqual([
    200,
    { created: 1, data: [{ url: image }] },
  ]);
  expect(await readSubmitted(id)).toMatchObject({ status: "completed", output: { urls: [image] } });
});

it("when an upstream takes no hook URL at the path of a submission, the relay passes on unchanged a callback_url in the submission's body", async () => {
  const outside = anArk();
  outside.on(VIDEOS, answering({ data: [{ url: "https://cdn.example.net/fox.png" }] }));
  const { id, headers } = named();
  const path = "/v1/submit/openai-videos/v1/images/generations";
  const body = JSON.stringify({
    model: "m",
    prompt: "a fox",
    callback_url: "https://own.example.net/",
  });
  expect((await submit({ path, body, headers })).status).toBe(200);
  expect(outside.sentTo(VIDEOS)[0]?.body).toBe(body);
  const task = await (await callWith(BINDINGS, `/v1/tasks/${id}`)).json();
  expect(task).toMatchObject({ callback: { url: headers["Relay-Callback-Url"] } });
});

it("the query of a submission is passed on, and a hook URL in the query becomes the task's callback_url", async () => {
  const outside = anArk();
  outside.on("https://queue.fal.run", answering({ request_id: "req-1" }));
  const id = crypto.randomUUID();
  const hook = "https://client.example.net/callbacks?order=1&x=2";
  const path = `/v1/submit/fal/fal-ai/veo3?a=1&fal_webhook=${encodeURIComponent(hook)}`;
  const headers = { "Relay-Task-Id": id, Authorization: "Key test-only-operator-key" };
  const response = await submit({
    path,
    headers,
    key: null,
    body: JSON.stringify({ prompt: "a fox" }),
  });
  expect(response.status).toBe(200);
  const [sent] = outside.sentTo("https://queue.fal.run");
  const { pathname, searchParams } = new URL(sent?.url ?? "");
  expect([pathname, searchParams.get("a")]).toEqual(["/fal-ai/veo3", "1"]);
  expect(searchParams.getAll("fal_webhook")).toEqual([
    expect.stringContaining(`/hooks/fal/${id}/`),
  ]);
  expect(sent?.headers["authorization"]).toBe("Key test-only-fal-key");
  expect(sent?.body).toBe(JSON.stringify({ prompt: "a fox" }));
  const task = await (await callWith(BINDINGS, `/v1/tasks/${id}`)).json();
  expect(task).toMatchObject({
    callback: { url: hook },
    upstream: { id: "req-1", endpoint: "fal-ai/veo3" },
  });
});

it("when the relay has nothing to set in a submission's body, the body is passed on unchanged", async () => {
  const outside = anArk();
  outside.on("https://videos.example.org", answering({ id: "v1" }));
  const path = "/v1/submit/openai-videos/v1/videos";
  const { headers } = named();
  await submit({ path, headers, body: BODY });
  expect(outside.sentTo("https://videos.example.org")[0]?.body).toBe(BODY);
});

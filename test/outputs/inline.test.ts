import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { connectionsWith, DECLARATIONS } from "../providers/declarations.ts";
import { useClock } from "../worker/clock.ts";
import { untilIdle, wake } from "../worker/objects.ts";
import { anOutside, type Site } from "../worker/outside.ts";
import { submit } from "../worker/submitted.ts";
import { CALLBACK_URL } from "../worker/tasks.ts";
import { VIDEO_BYTES } from "./copied.ts";
import { FIRST_POLL_MS, keyedLinkOf, openRaw, polledTask } from "./keyed.ts";

useClock();

const KEY = "test-only-runpod-key";
const BASE = DECLARATIONS.runpod.base_url;
const STATUS = `${BASE}/status/job-1`;
const BINDINGS = { ...env, CONNECTIONS: connectionsWith("runpod", { key: KEY }) };
const FILE = btoa(String.fromCharCode(...VIDEO_BYTES));

/**
 * Completes a task whose output stands in the answer to a poll, and returns the answer to a request for its link, at which
 * the upstream answers so.
 */
async function opened(site: Site) {
  const upstream = anOutside();
  upstream.on(BASE, answering(FILE));
  const task = { provider: "runpod", bindings: BINDINGS, jobId: "job-1", upstream };
  const { link } = await polledTask(task);
  const before = upstream.sentTo(BASE).length;
  upstream.on(BASE, site);
  const response = await openRaw(link, BINDINGS);
  return { response, sent: upstream.sentTo(BASE).slice(before) };
}

function answering(data: unknown, status = 200): Site {
  const body = { id: "job-1", status: "COMPLETED", output: { images: [{ data }] } };
  return () => Response.json(body, { status });
}

it.each([
  ["base64", FILE],
  ["a data: URL", `data:video/mp4;base64,${FILE}`],
  ["base64 with line breaks", FILE.replaceAll(/.{76}/g, "$&\r\n")],
])(
  "when an upstream's answer to a poll contains an output as %s, opening the relay's link makes the relay poll again with the connection's key and returns the file",
  async (_, data) => {
    const { response, sent } = await opened(answering(data));
    expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "video/mp4"]);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(VIDEO_BYTES);
    expect(sent.map(({ url, headers }) => [url, headers["authorization"]])).toEqual([
      [STATUS, `Bearer ${KEY}`],
    ]);
  },
);

it("when an upstream's answer to a poll contains an output as a percent-encoded data: URL, the relay's link opens the file in it", async () => {
  const { response } = await opened(answering("data:image/svg+xml,%3Csvg%2F%3E"));
  const text = new TextDecoder().decode(await response.arrayBuffer());
  expect([response.status, text]).toEqual([200, "<svg/>"]);
});

it.each<[string, Site, number]>([
  ["the upstream now answers 404", answering(FILE, 404), 410],
  ["the upstream now answers 500", answering(FILE, 500), 503],
  ["the upstream now answers 202", answering(FILE, 202), 503],
  ["the answer now has a malformed data: URL there", answering("data:text/plain,%zz"), 503],
  ["the answer now has a text there that is not base64", answering("not base64!"), 503],
  ["the answer now has an object there in place of a text", answering({}), 503],
  ["the answer now lacks the output", () => Response.json({ status: "COMPLETED" }), 503],
])(
  "the relay's link to an output that stands inside the upstream's answer to a poll is answered with an error when %s",
  async (_, site, status) => {
    const { response } = await opened(site);
    expect(response.status).toBe(status);
  },
);

const FAL = "https://queue.fal.run/fal-ai/flux";
const FAL_BINDINGS = { ...env, FAL_KEY: "test-only-fal-key" };

/** Submits a job to fal that asks for the output itself, and returns the task's id and the URL of the call. */
async function submittedToFal(query: string, callback: Readonly<Record<string, string>>) {
  const fal = anOutside();
  fal.on("https://client.example.net/", () => new Response());
  fal.on(FAL, ({ url }) => {
    if (url.includes("/dev")) return Response.json({ request_id: "job-1" });
    if (url.endsWith("/status")) return Response.json({ status: "COMPLETED" });
    return Response.json({ images: [{ url: `data:video/mp4;base64,${FILE}` }] });
  });
  const id = crypto.randomUUID();
  const path = `/v1/submit/fal/fal-ai/flux/dev${query}`;
  const headers = { "Relay-Task-Id": id, ...callback };
  const body = JSON.stringify({ prompt: "a fox", sync_mode: true });
  const response = await submit({ path, headers, body, bindings: FAL_BINDINGS });
  expect(response.status).toBe(200);
  return { id, url: fal.sentTo(`${FAL}/dev`)[0]?.url };
}

it("in a relay that copies outputs, a submission to fal with sync_mode, i.e. with the output inside fal's answer, is sent without a hook URL, and the relay's link opens the output", async () => {
  const { id, url } = await submittedToFal("", { "Relay-Callback-Url": CALLBACK_URL });
  expect(url).toBe(`${FAL}/dev`);
  await wake(id, FIRST_POLL_MS);
  await untilIdle(id);
  const response = await openRaw(await keyedLinkOf(id, FAL_BINDINGS), FAL_BINDINGS);
  expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "video/mp4"]);
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(VIDEO_BYTES);
});

it("when a submission to fal with sync_mode states a hook URL, the relay replaces it by its own, because fal would otherwise call the stated one", async () => {
  const { id, url } = await submittedToFal(`?fal_webhook=${encodeURIComponent(CALLBACK_URL)}`, {});
  expect(new URL(url ?? "").searchParams.get("fal_webhook")).toContain(`/hooks/fal/${id}/`);
});

it("a submission to Runware that asks for the output inside the answer is refused with 422, even in a relay that copies outputs, because Runware is polled by POST", async () => {
  const bindings = { ...env, CONNECTIONS: connectionsWith("runware", { key: "test-only-key" }) };
  const call = { taskUUID: crypto.randomUUID(), model: "m", outputType: "dataURI" };
  const response = await submit({
    path: "/v1/submit/runware/v1",
    body: JSON.stringify([call]),
    bindings,
  });
  expect([response.status, await response.json()]).toEqual([
    422,
    expect.objectContaining({ code: "output_needs_store" }),
  ]);
});

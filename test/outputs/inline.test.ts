import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { connectionsWith, DECLARATIONS } from "../providers/declarations.ts";
import { callWith } from "../worker/client.ts";
import { useClock } from "../worker/clock.ts";
import { hooked } from "../worker/hooked.ts";
import { untilIdle } from "../worker/objects.ts";
import { anOutside, type Site } from "../worker/outside.ts";
import { pathOfLink, VIDEO_BYTES } from "./copied.ts";
import { openRaw } from "./keyed.ts";

useClock();

const KEY = "test-only-runpod-key";
const BASE = DECLARATIONS.runpod.base_url;
const STATUS = `${BASE}/status/job-1`;
const BINDINGS = { ...env, CONNECTIONS: connectionsWith("runpod", { key: KEY }) };
const FILE = btoa(String.fromCharCode(...VIDEO_BYTES));
const Read = z.looseObject({ output: z.object({ urls: z.tuple([z.string()]) }) });

/** Completes a task whose output stands in the answer to a poll, and returns the answer to a request for its link. */
async function opened(site: Site, fragment = "#/output/images/0/data") {
  const upstream = anOutside();
  upstream.on("https://client.example.net/", () => new Response());
  upstream.on(BASE, site);
  const { id } = await hooked({ provider: "runpod", bindings: BINDINGS });
  const body = { id, status: "completed", output: { urls: [`${STATUS}${fragment}`] } };
  expect((await callWith(BINDINGS, "/v1/events", { body })).status).toBe(202);
  await untilIdle(id);
  const task = Read.parse(await (await callWith(BINDINGS, `/v1/tasks/${id}`)).json());
  const response = await openRaw(pathOfLink(task.output.urls[0]), BINDINGS);
  return { response, sent: upstream.sentTo(BASE) };
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
  "the relay's link to an output that stands in the upstream's answer as %s opens the file, read with the connection's key",
  async (_, data) => {
    const { response, sent } = await opened(answering(data));
    expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "video/mp4"]);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(VIDEO_BYTES);
    expect(sent.map(({ url, headers }) => [url, headers["authorization"]])).toEqual([
      [STATUS, `Bearer ${KEY}`],
    ]);
  },
);

it.each<[string, Site, string | undefined, number]>([
  ["that the upstream has forgotten", answering(FILE, 404), undefined, 410],
  ["that the upstream does not send now", answering(FILE, 500), undefined, 503],
  ["that is no base64", answering("not base64!"), undefined, 503],
  ["at whose place is no text", answering({}), undefined, 503],
  ["at whose place is nothing", answering(FILE), "#/output/video", 503],
])(
  "the relay's link to an output in an upstream's answer %s is answered with an error",
  async (_, site, fragment, status) => {
    const { response } = await opened(site, fragment);
    expect(response.status).toBe(status);
  },
);

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { connectionsWith, DECLARATIONS } from "../providers/declarations.ts";
import { useClock } from "../worker/clock.ts";
import { anOutside, type Site } from "../worker/outside.ts";
import { VIDEO_BYTES } from "./copied.ts";
import { openRaw, polledTask } from "./keyed.ts";

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

it("the link to an output that stands in the upstream's answer as a data: URL without base64 opens the file", async () => {
  const { response } = await opened(answering("data:image/svg+xml,%3Csvg%2F%3E"));
  const text = new TextDecoder().decode(await response.arrayBuffer());
  expect([response.status, text]).toEqual([200, "<svg/>"]);
});

it.each<[string, Site, number]>([
  ["that the upstream has forgotten", answering(FILE, 404), 410],
  ["that the upstream does not send now", answering(FILE, 500), 503],
  ["that the upstream has not ready", answering(FILE, 202), 503],
  ["that is no percent-encoded data: URL", answering("data:text/plain,%zz"), 503],
  ["that is no base64", answering("not base64!"), 503],
  ["at whose place is no text", answering({}), 503],
  ["at whose place is nothing", () => Response.json({ status: "COMPLETED" }), 503],
])(
  "the relay's link to an output in an upstream's answer %s is answered with an error",
  async (_, site, status) => {
    const { response } = await opened(site);
    expect(response.status).toBe(status);
  },
);

import type { IncomingMessage, ServerResponse } from "node:http";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it, vi } from "vitest";
import * as z from "zod";
import { ROOT } from "../harness/child.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { answering, realBody } from "./real-bodies.ts";
import { codeOf } from "./recipe-pages.ts";

/** A handler as Next.js calls it, since version 15 with the parameters of the path as a promise. */
type Handler = (
  request: Request,
  context: { readonly params: Promise<Record<string, string>> },
) => Promise<Response>;
const Module = z.record(
  z.string(),
  z.custom<Handler>((value) => typeof value === "function"),
);
const Secrets = z.object({ callbacks: z.tuple([z.string()]) });

const CALLED_BACK_WITHIN = { timeout: 30_000 };
const PREDICTIONS = "/v1/models/bytedance/seedance-1-pro/predictions";
const VIDEOS = "app/api/videos/route.js";
const CALLBACKS = "app/api/callbacks/route.js";
const VIDEO = "app/api/videos/[order]/route.js";

/** The project of the recipe. */
const directory = mkdtempSync(join(tmpdir(), "task-relay-nextjs-"));
afterAll(() => rmSync(directory, { recursive: true }));
symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
writeFileSync(join(directory, "package.json"), '{"type": "module"}');
for (const file of ["lib/videos.js", VIDEOS, CALLBACKS, VIDEO]) {
  mkdirSync(dirname(join(directory, file)), { recursive: true });
  writeFileSync(join(directory, file), codeOf("nextjs", file));
}

/** Calls the handler of a route of the project. */
async function handled(
  file: string,
  request: Request,
  params: Record<string, string> = {},
): Promise<Response> {
  const exported: unknown = await import(pathToFileURL(join(directory, file)).href);
  const handler = Module.parse({ ...Object(exported) })[request.method];
  if (handler === undefined) throw new Error(`${file} has no handler of ${request.method}`);
  return handler(request, { params: Promise.resolve(params) });
}

/** Serves the route for callbacks. */
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = "", method = "", headers } = request;
  const body = await bodyOf(request);
  const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  const init = { method, headers: Object.fromEntries(entries), body };
  const { status } = await handled(CALLBACKS, new Request(app.origin + url, init));
  response.writeHead(status).end();
}

const upstream = await forThisFile(Receiver.start());
const app = await forThisFile(
  new LoopbackServer((request, response) => void serve(request, response)).listen(),
);
const vars = { REPLICATE_API_TOKEN: "r8_key", REPLICATE_BASE_URL: upstream.origin };
const relay = await forThisFile(Workerd.start({ vars: { ...LOCAL_VARS, ...vars } }));
const { callbacks } = Secrets.parse((await relay.client.ask("GET", "/v1/signing-secrets")).json);
vi.stubEnv("RELAY_URL", relay.url);
vi.stubEnv("RELAY_KEY", OPERATOR_KEY);
vi.stubEnv("CALLBACK_SECRET", callbacks[0]);
vi.stubEnv("APP_URL", app.origin);
afterAll(() => vi.unstubAllEnvs());

/** Orders a video as a page of the app does. */
function ordered(order: string): Promise<Response> {
  const body = JSON.stringify({ order, prompt: "a fox" });
  return handled(VIDEOS, new Request(`${app.origin}/api/videos`, { method: "POST", body }));
}

/** Reads the state of an order as a page of the app does. */
async function stateOf(order: string): Promise<unknown> {
  const request = new Request(`${app.origin}/api/videos/${order}`);
  const answer = await handled(VIDEO, request, { order });
  return answer.status === 200 ? answer.json() : answer.status;
}

it("the routes of docs/recipes/nextjs.md start one job for an order that is sent twice, take its callback, and show the link of the video", async () => {
  const started = realBody("replicate", "starting-no-output-member");
  const { job, body } = realBody("replicate", "succeeded-video-billed-metrics");
  upstream.at(PREDICTIONS, answering(started.body, 201));
  upstream.at(`/v1/predictions/${job}`, answering(body));
  expect(await stateOf("order 1042")).toBe(404);
  expect((await ordered("order 1042")).status).toBe(202);
  expect(await stateOf("order 1042")).toEqual({ status: "pending" });
  const completed = { status: "completed", url: "https://cdn.example.com/video.mp4" };
  await expect.poll(() => stateOf("order 1042"), CALLED_BACK_WITHIN).toEqual(completed);
  expect((await ordered("order 1042")).status).toBe(202);
  expect(upstream.postsAt(PREDICTIONS)).toHaveLength(1);
  expect(await stateOf("order 1042")).toEqual(completed);
});

it("the route for callbacks of docs/recipes/nextjs.md answers 401 to a callback without a valid signature, and stores nothing", async () => {
  const url = `${app.origin}/api/callbacks?order=order-7`;
  const forged = new Request(url, { method: "POST", body: '{"id":"x","status":"completed"}' });
  expect((await handled(CALLBACKS, forged)).status).toBe(401);
  expect(await stateOf("order-7")).toBe(404);
});

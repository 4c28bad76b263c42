import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import * as z from "zod";
import { Child } from "../harness/child.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { freePort } from "../harness/loopback.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { install, missingCommand, type Runtime } from "../receivers/runtimes.ts";
import { answering, realBody } from "./real-bodies.ts";
import { codeOf } from "./recipe-pages.ts";

const RUNTIME: Runtime = {
  heading: "docs/recipes/python.md",
  needs: ["python3"],
  packages: "python",
  file: "service.py",
  install: "python3 -m venv . && bin/pip install -q -r requirements.txt httpx==0.28.1",
  start: "bin/uvicorn service:app --port $PORT",
  maxLines: 75,
};
const CALLED_BACK_WITHIN = { timeout: 30_000 };
const TASKS = "/contents/generations/tasks";
const VIDEO = "https://ark-content-generation-cn-beijing.tos-cn-beijing.volces.com/video.mp4";
const Secrets = z.object({ callbacks: z.tuple([z.string()]) });

const upstream = await forThisFile(Receiver.start());
const vars = { ...LOCAL_VARS, ARK_API_KEY: "ark-key", ARK_BASE_URL: upstream.origin };
const relay = await forThisFile(Workerd.start({ vars }));
const { callbacks } = Secrets.parse((await relay.client.ask("GET", "/v1/signing-secrets")).json);
const directory = mkdtempSync(join(tmpdir(), "task-relay-python-"));
afterAll(() => rmSync(directory, { recursive: true }));
const port = await freePort();
const service = `http://127.0.0.1:${port}`;

/** Orders a video at the service. @returns the status of the answer. */
async function ordered(order: string): Promise<number> {
  const body = JSON.stringify({ order, prompt: "a fox" });
  const headers = { "Content-Type": "application/json" };
  return (await fetch(`${service}/videos`, { method: "POST", headers, body })).status;
}

async function stateOf(order: string): Promise<unknown> {
  return (await fetch(`${service}/videos/${order}`)).json();
}

/** Lets the upstream start the job of a real answer, and answer so when it is asked for the job. */
function startsAndAnswers(name: string): void {
  const { job, body } = realBody("ark", name);
  upstream.at(TASKS, answering({ id: job }));
  upstream.at(`${TASKS}/${job}`, answering(body));
}

it("the service of docs/recipes/python.md starts one job for an order that is sent twice, stores the link of its callback and the error of a failed job, and refuses a callback without a signature", async ({
  skip,
}) => {
  const missing = missingCommand(RUNTIME);
  skip(missing !== undefined, `${missing} is not installed`);
  const addresses = { RELAY_URL: relay.url, APP_URL: service, PORT: String(port) };
  const secrets = { RELAY_KEY: OPERATOR_KEY, CALLBACK_SECRET: callbacks[0] };
  const env = { ...process.env, ...addresses, ...secrets, PYTHONUNBUFFERED: "1" };
  const unreachable = await install(RUNTIME, codeOf("python", RUNTIME.file), directory, env);
  skip(unreachable !== null, unreachable ?? "");
  const child = new Child("sh", ["-c", `cd ${directory} && exec ${RUNTIME.start}`], env);
  try {
    await child.answering(`${service}/openapi.json`);
    startsAndAnswers("succeeded-full");
    expect(await ordered("order-1042")).toBe(202);
    expect(await ordered("order-1042")).toBe(202);
    expect(upstream.postsAt(TASKS)).toHaveLength(1);
    const completed = { status: "completed", url: VIDEO, error: null };
    await expect.poll(() => stateOf("order-1042"), CALLED_BACK_WITHIN).toEqual(completed);

    startsAndAnswers("failed-output-policy-neutral");
    expect(await ordered("order-1043")).toBe(202);
    const failed = { status: "failed", url: null, error: expect.any(String) };
    await expect.poll(() => stateOf("order-1043"), CALLED_BACK_WITHIN).toEqual(failed);

    upstream.at(TASKS, answering({ error: { code: "InvalidParameter", message: "no" } }, 400));
    expect(await ordered("order-1044")).toBe(502);
    const forged = '{"id":"x","status":"completed","output":{"urls":["https://evil.example.com"]}}';
    const url = `${service}/callbacks?order=order-1044`;
    expect((await fetch(url, { method: "POST", body: forged })).status).toBe(401);
    expect(await stateOf("order-1044")).toMatchObject({ status: "pending", url: null });
  } finally {
    await child.kill9();
  }
});

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it, vi } from "vitest";
import * as z from "zod";
import comfyui from "../../../src/providers/generic/upstreams/comfyui/comfyui.json" with { type: "json" };
import { ROOT } from "../harness/child.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";

const run = promisify(execFile);
/** Time within which the second poll finds the end of a job: the first is made after 4 s. */
const CALLED_BACK_WITHIN_MS = 60_000;
const OUTPUTS_URL = "https://outputs.example.com";
const Callback = z.looseObject({ output: z.looseObject({ urls: z.array(z.string()) }) });
const Failed = z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) });
const Submitted = z.looseObject({ prompt_id: z.string() });

const [comfy, port] = await startComfy();
afterAll(() => comfy.kill());
const declaration = { ...comfyui, base_url: `http://127.0.0.1:${port}` };
const { poll, ...broken } = declaration;
const receiver = await forThisFile(Receiver.start());
/** A worker that answers with its file in base64. */
const worker = {
  provider: "generic",
  base_url: receiver.origin,
  submit: { path: "/run", id: "/id" },
  poll: { path: "/status/{id}", id: "/id", state: "/status", outputs: ["/output/file"] },
};
const relay = await forThisFile(
  WranglerDev.start({
    vars: {
      ...LOCAL_VARS,
      OUTPUTS_URL,
      CONNECTIONS: JSON.stringify({ comfyui: declaration, unfinished: broken, worker }),
    },
    hasIndex: false,
    hasOutputs: true,
  }),
);

/** Starts the server, and returns its process and its port. */
async function startComfy(): Promise<readonly [ChildProcess, number]> {
  const script = join(import.meta.dirname, "comfy-server.ts");
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  const [line]: unknown[] = await once(child.stdout, "data");
  const address = z.object({ port: z.int() }).parse(JSON.parse(String(line)));
  return [child, address.port];
}

/** Submits a call with a key of the relay, to be called back at a path, and returns the upstream's answer. */
async function submitTo(target: string, body: unknown, path: string): Promise<unknown> {
  const url = receiver.at(path, { kind: "answer", status: 200 });
  const answer = await fetch(`${relay.url}/v1/submit/${target}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${OPERATOR_KEY}`, "Relay-Callback-Url": url },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  return answer.json();
}

/** Submits a workflow as a client of ComfyUI does, and returns the id that ComfyUI has given. */
async function submit(prompt: string, path: string): Promise<string> {
  const body = { prompt: { 6: { inputs: { text: prompt } } } };
  return Submitted.parse(await submitTo("comfyui/prompt", body, path)).prompt_id;
}

/** Waits until the only output in the callback to a path is kept. Returns its link, and the answer to a request for it. */
async function keptOutput(path: string): Promise<readonly [string, Response]> {
  const { output } = Callback.parse(await calledBack(path));
  expect(output.urls).toHaveLength(1);
  const [link = ""] = output.urls;
  expect(link.startsWith(`${OUTPUTS_URL}/outputs/`)).toBe(true);
  const task = link.split("/")[4] ?? "";
  const isKept = async () => {
    const { json } = await relay.client.ask("GET", `/v1/tasks/${task}`);
    const Read = z.looseObject({ outputs: z.array(z.looseObject({ kept: z.boolean() })) });
    return Read.parse(json).outputs.every(({ kept }) => kept);
  };
  await vi.waitUntil(isKept, CALLED_BACK_WITHIN_MS);
  return [link, await fetch(link.replace(OUTPUTS_URL, relay.url))];
}

/** Returns the body of the callback to a path, which is waited for. */
async function calledBack(path: string): Promise<unknown> {
  await vi.waitUntil(() => receiver.postsAt(path).length > 0, CALLED_BACK_WITHIN_MS);
  return JSON.parse(receiver.postsAt(path)[0]?.body ?? "");
}

it("when a declaration describes ComfyUI, one call submits a workflow, polls find its end, the relay copies its image, and the callback arrives", async () => {
  const id = await submit("a fox", "/done");
  const [link, image] = await keptOutput("/done");
  // The file is named by a parameter of ComfyUI's own link.
  expect(link.endsWith(".png")).toBe(true);
  expect([image.status, image.headers.get("Content-Type")]).toEqual([200, "image/png"]);
  expect(Buffer.from(await image.arrayBuffer()).toString("latin1")).toContain(id);
});

/** Returns the behaviour of a server that answers so. */
function answering(body: unknown) {
  return { kind: "answer", status: 200, body: JSON.stringify(body) } as const;
}

it("when an upstream described by a declaration answers a poll with a file in base64, the relay copies the file, and the output's link opens it", async () => {
  const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(300, "x")]);
  receiver.at("/run", answering({ id: "job-1" }));
  const output = { file: png.toString("base64") };
  receiver.at("/status/job-1", answering({ id: "job-1", status: "COMPLETED", output }));
  await submitTo("worker/run", { input: {} }, "/encoded");
  const [, file] = await keptOutput("/encoded");
  expect([file.status, file.headers.get("Content-Type")]).toEqual([200, "image/png"]);
  expect(Buffer.from(await file.arrayBuffer())).toEqual(png);
});

it("when ComfyUI reports a workflow as failed, its task fails, and the callback arrives", async () => {
  await submit("broken", "/failed");
  const { error } = Failed.parse(await calledBack("/failed"));
  expect(error.code).toBe("upstream_error");
});

it("a connection whose declaration lacks the member poll is disabled: npm run doctor says so, and a registration for the connection is refused with 503", async () => {
  const script = join(ROOT, "scripts/doctor.ts");
  const env = { ...process.env, OPERATOR_KEY };
  const doctor = run(process.execPath, [script, "--url", relay.url], { cwd: ROOT, env });
  const { stdout } = await doctor.catch((error: unknown) =>
    z.object({ stdout: z.string() }).parse(error),
  );
  expect(stdout).toContain("providers: unfinished is disabled: CONNECTIONS.unfinished.poll must");
  const body = { model: "m", provider: "unfinished" };
  const { status, json } = await relay.client.ask("POST", "/v1/tasks", body);
  expect([status, json]).toEqual([503, expect.objectContaining({ code: "not_configured" })]);
});

it("npm run providers:check shows for each member of a declaration what the member finds in a response of ComfyUI, or that it finds nothing", async () => {
  const id = await submit("a bear", "/checked");
  await calledBack("/checked");
  const directory = mkdtempSync(join(tmpdir(), "task-relay-declared-"));
  try {
    const file = join(directory, "vars");
    const wrong = { ...Object(poll), error: "/{id}/error", usage: { cost: "/cost" } };
    const entries = { comfyui: { ...declaration, poll: wrong }, unfinished: broken };
    const variables = `ALLOW_LOCAL_CALLBACKS='true'\nCONNECTIONS='${JSON.stringify(entries)}'\n`;
    writeFileSync(file, variables);
    const script = join(ROOT, "scripts/providers-check.ts");
    const check = (name: string) =>
      run(process.execPath, [script, name, "--job", id, "--secrets", file], { cwd: ROOT });
    const { stdout } = await check("comfyui");
    const [, members = ""] = stdout.split("What the declaration makes of the answer:\n");
    expect(members.trimEnd().split("\n")).toEqual([
      "poll.state       success, which means completed",
      "poll.ends        not found at /{id}/status/messages/*/0",
      "poll.outputs.0   links: 1",
      "poll.error       not found at /{id}/error",
      "poll.usage.cost  not found at /cost",
    ]);
    expect(stdout).toContain("task         completes, with the whole links");
    await expect(check("unfinished")).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("CONNECTIONS.unfinished.poll must"),
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import * as z from "zod";
import { Child, ROOT } from "../harness/child.ts";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { freePort } from "../harness/loopback.ts";
import { type Post, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { blocksBelow, install, missingCommand, RUNTIMES } from "./runtimes.ts";

const WITHIN = { timeout: 20_000 };
const relay = await forThisFile(Workerd.start({ vars: LOCAL_VARS }));
const recorder = await forThisFile(Receiver.start());
const Vectors = z.object({
  vectors: z.array(
    z.object({ requests: z.array(z.object({ headers: z.record(z.string(), z.string()) })) }),
  ),
});
const Secrets = z.object({ callbacks: z.array(z.string()).min(1) });
const { json } = await relay.client.ask("GET", "/v1/signing-secrets");
const [CALLBACK_SECRET = ""] = Secrets.parse(json).callbacks;
const [TABLE = "", INSERT = ""] = await blocksBelow("Act once");

it.for(RUNTIMES)(
  "the receiver in docs/receive.md for $heading accepts a real callback, refuses a changed one, acts once on a repeated one, and passes npm run conformance",
  async (runtime, { skip }) => {
    const missing = missingCommand(runtime);
    skip(missing !== undefined, `${missing} is not installed`);
    const [receiver = ""] = await blocksBelow(runtime.heading);
    const lines = receiver.split("\n").filter((line) => line.trim() !== "");
    expect(lines.length).toBeLessThanOrEqual(runtime.maxLines);
    const directory = await mkdtemp(join(tmpdir(), "task-relay-receiver-"));
    const port = String(await freePort());
    const env = { ...process.env, ...quiet(directory), CALLBACK_SECRET, TABLE, PORT: port };
    let child: Child | null = null;
    try {
      const unreachable = await install(runtime, receiver, directory, env);
      skip(unreachable !== null, unreachable ?? "");
      child = new Child("sh", ["-c", `cd ${directory} && exec ${runtime.start}`], env);
      const url = `http://127.0.0.1:${port}/callbacks`;
      await child.answering(url);
      await expectReceiver(url, child);
    } finally {
      await child?.kill9();
      await rm(directory, { recursive: true, force: true });
    }
  },
);

it("the SQL INSERT in docs/receive.md adds a row for a new task, and none when run again for the same task", () => {
  const database = new DatabaseSync(":memory:");
  database.exec(TABLE);
  const changes = [1, 2].map(() => database.prepare(INSERT).run().changes);
  expect(changes).toEqual([1, 0]);
});

it("apart from Host, Content-Length and User-Agent, a real callback has exactly the headers of the example callbacks in conformance/v1.json", async () => {
  const post = await recorded();
  const file = readFileSync(join(ROOT, "conformance/v1.json"), "utf8");
  const [first] = Vectors.parse(JSON.parse(file)).vectors;
  const names = Object.keys(first?.requests[0]?.headers ?? {});
  const ofHttp = ["host", "content-length", "user-agent"];
  expect(
    Object.keys(post.headers)
      .filter((name) => !ofHttp.includes(name))
      .toSorted(),
  ).toEqual(names.toSorted());
});

/** Has the relay send a callback, and returns it. */
async function recorded(): Promise<Post> {
  const id = await relay.client.finish(recorder.at("/recorded", { kind: "answer", status: 204 }));
  await relay.client.settled(id);
  const post = recorder.posts.find(({ headers }) => headers["x-task-id"] === id);
  if (post === undefined) throw new Error("no callback came");
  return post;
}

async function expectReceiver(url: string, child: Child): Promise<void> {
  const acts = (id = "") => child.output.split(`task ${id} is completed`).length - 1;
  const { client } = relay;
  const outcomes = async (id: string) =>
    (await client.read(id)).callback?.attempts.map(({ outcome }) => outcome);

  const id = await client.finish(url);
  await expect.poll(() => outcomes(id), WITHIN).toEqual(["delivered"]);
  await expect.poll(() => acts(id), WITHIN).toBe(1);
  await client.ask("POST", `/v1/tasks/${id}/redeliver`, {});
  await expect.poll(() => outcomes(id), WITHIN).toEqual(["delivered", "delivered"]);
  expect(acts(id)).toBe(1);

  const post = await recorded();
  const taskId = post.headers["x-task-id"];
  const headers = Object.entries(post.headers).filter(([name]) => /^(?:webhook-|x-)/.test(name));
  const send = async (body: string) => (await fetch(url, { method: "POST", headers, body })).status;
  expect(await send(post.body.replace("https://cdn.", "https://evil."))).toBe(401);
  expect(acts(taskId)).toBe(0);
  expect(await send(post.body)).toBeLessThan(300);
  await expect.poll(() => acts(taskId), WITHIN).toBe(1);

  const conformance = ["scripts/conformance.ts", "--to", url, "--secret", CALLBACK_SECRET];
  const { stdout } = await promisify(execFile)(process.execPath, conformance, { cwd: ROOT });
  expect(stdout).toContain(", 0 answered wrongly");
  const lines = child.output.match(/task \S+ is \w+/g) ?? [];
  expect(new Set(lines).size).toBe(lines.length);
}

/**
 * Returns variables that keep the package clients and servers from asking questions and from writing
 * elsewhere.
 */
function quiet(directory: string) {
  return {
    APP_ENV: "production",
    GEM_HOME: directory,
    GOFLAGS: "-modcacherw -buildvcs=false",
    GOMODCACHE: join(directory, "modules"),
    NEXT_TELEMETRY_DISABLED: "1",
    PYTHONUNBUFFERED: "1",
  };
}

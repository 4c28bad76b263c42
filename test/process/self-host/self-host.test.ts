import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import * as z from "zod";
import { ROOT } from "../harness/child.ts";
import { Client, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { skipWithout } from "../harness/program.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";
import { S3_PROGRAM, S3Server } from "../harness/s3-server.ts";
import { blockOf, Installed } from "./installed.ts";

const TASKS = "/var/lib/task-relay/tasks";
const ALLOWED = "/etc/task-relay/allow.capnp";
const Listed = z.object({ id: z.string() });
const down: Behaviour = { kind: "answer", status: 500 };
const up: Behaviour = { kind: "answer", status: 204 };

const installed = await forThisFile(Installed.install());
const receiver = await forThisFile(Receiver.start());
const client = new Client(installed);
installed.edit("/etc/task-relay.env", "OPERATOR_KEYS=", `OPERATOR_KEYS=${OPERATOR_KEY} `);

it("the environment file of docs/self-host.md can be read only by its owner, and the systemd unit always restarts the process", () => {
  expect(statSync(installed.path("/etc/task-relay.env")).mode & 0o777).toBe(0o600);
  expect(installed.unit).toMatch(/^Restart=always$/m);
  expect(installed.environment["PUBLIC_URL"]).toBe("https://relay.example.com");
});

it.for([
  ["ops/task-relay.service", false],
  ["ops/task-relay.service with ops/cluster.conf", true],
] as const)("systemd-analyze verify accepts %s without a remark", ([, isCluster], { skip }) => {
  skipWithout(["systemd-analyze"], skip);
  const unit = installed.path("/etc/systemd/system/verified.service");
  writeFileSync(unit, installed.unit);
  const added = `${unit}.d`;
  mkdirSync(added, { recursive: true });
  if (isCluster) {
    const settings = readFileSync(join(ROOT, "ops/cluster.conf"), "utf8");
    writeFileSync(join(added, "cluster.conf"), installed.placed(settings));
  }
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", unit], {
    encoding: "utf8",
  });
  rmSync(added, { recursive: true });
  expect([status, stdout, stderr]).toEqual([0, "", ""]);
});

it("a self-hosted relay reaches a store of outputs at a private address, with the networks of allow.capnp as they are", async ({
  skip,
}) => {
  skipWithout([S3_PROGRAM], skip);
  await using store = await S3Server.start();
  const settings = Object.entries(store.vars)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
  installed.edit("/etc/task-relay.env", "PUBLIC_URL", `${settings}PUBLIC_URL`);
  try {
    await installed.start();
    const { json } = await client.ask("GET", "/healthz");
    expect(json).toMatchObject({ configuration: { OUTPUTS: true }, store: { fault: null } });
  } finally {
    installed.edit("/etc/task-relay.env", settings, "");
  }
});

it("a self-hosted relay calls local hosts only as allow.capnp permits, survives kill -9, lists its tasks, and keeps them when the files of erased tasks are removed", async () => {
  installed.edit(
    "/etc/task-relay.env",
    "PUBLIC_URL",
    'ALLOW_LOCAL_CALLBACKS="true"\nCALLBACK_SCHEDULE_S="0,2"\nPUBLIC_URL',
  );
  await installed.start();
  const blocked = await client.finish(receiver.at("/blocked", up));
  expect((await client.settled(blocked)).callback?.attempts).toMatchObject([
    { outcome: "unreachable", cause: "forbidden" },
    { outcome: "unreachable", cause: "forbidden" },
  ]);
  expect(receiver.postsAt("/blocked")).toEqual([]);

  await installed.kill9();
  const networks = "networks :List(Text) = ";
  installed.edit(ALLOWED, `${networks}["public"]`, `${networks}["public", "127.0.0.1/32"]`);
  await installed.start();
  const id = await client.finish(receiver.at("/down-first", down, up));
  const outcomes = async () =>
    (await client.read(id)).callback?.attempts.map(({ outcome }) => outcome);
  await expect.poll(outcomes).toEqual(["rejected"]);
  await installed.kill9();
  await installed.start();
  expect((await client.settled(id)).callback).toMatchObject({ status: "delivered" });
  const listed = async () => (await client.list("/v1/tasks", Listed)).map((task) => task.id);
  await expect.poll(listed).toContain(id);

  await client.ask("DELETE", `/v1/tasks/${blocked}`);
  await installed.stop();
  const before = readdirSync(installed.path(TASKS));
  installed.run("Disk and file handles");
  const after = readdirSync(installed.path(TASKS));
  expect(before.filter((file) => !after.includes(file))).toHaveLength(1);
  expect(after).toContain("metadata.sqlite");
  await installed.start();
  expect((await client.read(id)).callback).toMatchObject({ status: "delivered" });
});

it("the backup of docs/self-host.md brings a task back that was erased after the backup", async ({
  skip,
}) => {
  skipWithout(["rsync"], skip);
  const [id, output] = [randomUUID(), { urls: ["https://cdn.example.com/video.mp4"] }];
  await installed.start();
  await client.ask("POST", "/v1/events", { id, status: "completed", model: "m", output });
  const { text: before } = await client.ask("GET", `/v1/tasks/${id}`);
  await installed.stop();
  installed.run("Backup");
  await installed.start();
  await client.ask("DELETE", `/v1/tasks/${id}`);
  expect((await client.ask("GET", `/v1/tasks/${id}`)).status).toBe(404);
  await installed.stop();
  installed.run("Backup", 1);
  await installed.start();
  expect(await client.ask("GET", `/v1/tasks/${id}`)).toMatchObject({ status: 200, text: before });
});

it("a self-hosted relay counts requests of an account itself, and npm run doctor finds no problem and proposes nothing of Cloudflare", async () => {
  await installed.start();
  const account = randomUUID();
  await client.ask("POST", "/v1/accounts", { id: account });
  const { json } = await client.ask("POST", `/v1/accounts/${account}/keys`, {});
  const headers = { Authorization: `Bearer ${z.object({ key: z.string() }).parse(json).key}` };
  const statuses: number[] = [];
  for (let sent = 0; sent < 12; sent++) {
    const answer = await client.send("POST", "/v1/callbacks/test", {}, { headers });
    await answer.text();
    statuses.push(answer.status);
  }
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429, 429]);

  const child = spawn(process.execPath, ["scripts/doctor.ts", "--url", installed.url], {
    cwd: ROOT,
    env: { ...process.env, OPERATOR_KEY },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = await text(child.stdout);
  expect(lines).toMatch(/^ok +host: plain workerd/m);
  expect(lines).toMatch(/^ok +limits: LIMIT_TESTS/m);
  expect(lines).not.toMatch(/PROBLEM|wrangler|npm run|deploy/);
});

it("nginx -t accepts the configuration of docs/self-host.md", ({ skip }) => {
  skipWithout(["nginx"], skip);
  const [file, log] = [installed.path("/etc/nginx.conf"), installed.path("/var/nginx.log")];
  const server = blockOf("TLS and a proxy", "nginx")
    .replace("443 ssl", `unix:${log}.sock`)
    .replaceAll(/^ *ssl_.*\n/gm, "")
    .replace(/access_log \/.*(?= relay;)/, `access_log ${log}`);
  writeFileSync(file, `pid ${log}.pid; events {}\nhttp {\n${server}}\n`);
  const args = ["-t", "-q", "-c", file, "-e", log];
  const { status, stderr } = spawnSync("nginx", args, { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
});

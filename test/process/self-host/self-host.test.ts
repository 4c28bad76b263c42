import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { Client, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { isInstalled, skipWithout } from "../harness/program.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";
import { S3_PROGRAM, S3Server } from "../harness/s3-server.ts";
import { blockOf, Installed } from "./installed.ts";

const TASKS = "/var/lib/task-relay/tasks";
const down: Behaviour = { kind: "answer", status: 500 };
const up: Behaviour = { kind: "answer", status: 204 };

const installed = await forThisFile(Installed.install());
const receiver = await forThisFile(Receiver.start());
const client = new Client(installed);
const variables = `OPERATOR_KEYS="${OPERATOR_KEY} `;
installed.edit("/etc/task-relay.env", 'OPERATOR_KEYS="', variables);
const noted = (command: string) =>
  isInstalled(command) ? "" : ` (skipped: ${command} is not installed)`;

it("the environment file of docs/self-host.md can be read only by its owner, and the systemd unit always restarts the process", () => {
  expect(statSync(installed.path("/etc/task-relay.env")).mode & 0o777).toBe(0o600);
  expect(installed.unit).toMatch(/^Restart=always$/m);
  expect(installed.environment["PUBLIC_URL"]).toBe("https://relay.example.com");
});

it.skipIf(!isInstalled("systemd-analyze"))(
  `systemd-analyze verify accepts ops/task-relay.service without a remark${noted("systemd-analyze")}`,
  () => {
    const unit = installed.path("/etc/systemd/system/verified.service");
    writeFileSync(unit, installed.unit);
    const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", unit], {
      encoding: "utf8",
    });
    expect([status, stdout, stderr]).toEqual([0, "", ""]);
  },
);

it("a self-hosted relay reaches a store of outputs at a private address, with the networks of workerd.capnp as they are", async ({
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

it("a self-hosted relay calls local hosts only as workerd.capnp permits, survives kill -9, and keeps its tasks when the files of erased tasks are removed", async () => {
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
  installed.edit("/opt/task-relay/workerd.capnp", '["public"]', '["public", "127.0.0.1/32"]');
  await installed.start();
  const id = await client.finish(receiver.at("/down-first", down, up));
  const outcomes = async () =>
    (await client.read(id)).callback?.attempts.map(({ outcome }) => outcome);
  await expect.poll(outcomes).toEqual(["rejected"]);
  await installed.kill9();
  await installed.start();
  expect((await client.settled(id)).callback).toMatchObject({ status: "delivered" });

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

it.skipIf(!isInstalled("rsync"))(
  `the backup of docs/self-host.md brings a task back that was erased after the backup${noted("rsync")}`,
  async () => {
    const [id, output] = [randomUUID(), { urls: ["https://cdn.example.com/video.mp4"] }];
    await installed.start();
    await client.ask("POST", "/v1/events", { id, status: "completed", model: "m", output });
    const { text } = await client.ask("GET", `/v1/tasks/${id}`);
    await installed.stop();
    installed.run("Backup");
    await installed.start();
    await client.ask("DELETE", `/v1/tasks/${id}`);
    expect((await client.ask("GET", `/v1/tasks/${id}`)).status).toBe(404);
    await installed.stop();
    installed.run("Backup", 1);
    await installed.start();
    expect(await client.ask("GET", `/v1/tasks/${id}`)).toMatchObject({ status: 200, text });
  },
);

it.skipIf(!isInstalled("nginx"))(
  `nginx -t accepts the configuration of docs/self-host.md${noted("nginx")}`,
  () => {
    const [file, log] = [installed.path("/etc/nginx.conf"), installed.path("/var/nginx.log")];
    const server = blockOf("TLS and a proxy", "nginx")
      .replace("443 ssl", `unix:${log}.sock`)
      .replaceAll(/^ *ssl_.*\n/gm, "")
      .replace(/access_log \/.*(?= relay;)/, `access_log ${log}`);
    writeFileSync(file, `pid ${log}.pid; events {}\nhttp {\n${server}}\n`);
    const args = ["-t", "-q", "-c", file, "-e", log];
    const { status, stderr } = spawnSync("nginx", args, { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
  },
);

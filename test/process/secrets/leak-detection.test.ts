import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { Child, QUIET_ENV, ROOT } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { Client, OPERATOR_KEY, SECRETS } from "../harness/client.ts";
import { leaksIn, plant } from "../harness/leaks.ts";

const WHSEC = `whsec_${"A".repeat(43)}=`;
const HEX = "0123456789abcdef".repeat(4);
const ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
/** Put together here, so that nothing but a leak looks like one. */
const LEAKS: Readonly<Record<string, string>> = {
  "an operator key": OPERATOR_KEY,
  "the relay's secret": SECRETS.RELAY_SECRET,
  "a key of an upstream": "process-test-ark-key",
  "a secret of the other projects": ["test-only", "relay-secret-0123456789abcdef"].join("-"),
  "a secret to verify with": WHSEC,
  "a private key": `{"kty":"OKP","d":"${"x".repeat(43)}"}`,
  "an account's key": `trk_acct-1_${HEX.slice(0, 48)}`,
  "a hook URL": `https://relay.example.com/hooks/ark/${ID}/${"t".repeat(43)}`,
  "a credential": `Authorization: Bearer ${HEX}`,
  "a signature": `v1,${"B".repeat(43)}=`,
  "what a receiver said": "planted-body",
  "a query string": "https://client.example.net/?t=planted-token",
};

describe("the watch over secrets", () => {
  it.each(Object.entries(LEAKS))("sees %s in a line of a log", (_what, secret) => {
    const line = JSON.stringify({ event: "request.failed", error: `Error: ${secret}!` });
    expect(leaksIn(`{"event":"a"}\n${line.replaceAll('\\"', '"')}\n`)).not.toEqual([]);
  });

  it("tells where a secret was, and not the secret", () => {
    const [leak = "", ...more] = leaksIn(`the key is ${OPERATOR_KEY}`);
    expect(more).toEqual([]);
    expect(leak).toContain("the key is ");
    expect(leak).not.toContain(OPERATOR_KEY);
  });

  it.each([
    '{"event":"task.completed","task_id":"6f9619ff-8b86-4d01-b42d-00cf4fc964ff","version":12}',
    '{"event":"request.refused","path":"/hooks/{provider}/{id}/{token}","code":"unknown_task"}',
    "An operator key is required: Authorization: Bearer <key>.",
    'WWW-Authenticate: Bearer realm="task-relay"',
    "SIGNING_SECRETS must be whsec_ and the base64 of 24 to 64 bytes, space-separated",
    "trk_acct-1_0123ab",
  ])("lets pass what is no secret: %s", (line) => {
    expect(leaksIn(line)).toEqual([]);
  });
});

const printing = (text: string) =>
  new Child(process.execPath, ["-e", `console.error(${JSON.stringify(text)})`], process.env);

describe("a server that prints a secret", () => {
  it.each(Object.entries(LEAKS))("fails its test when it is stopped: %s", async (_what, secret) => {
    const child = printing(`before ${secret} after`);
    while (child.isAlive) await new Promise((resolve) => setTimeout(resolve, 10));
    await expect(child.kill9()).rejects.toThrow("a secret is in the output of a server");
  });

  it("fails it for one that only this test knows", async () => {
    const own = `own-${crypto.randomUUID()}`;
    plant(own);
    const child = printing(own);
    while (child.isAlive) await new Promise((resolve) => setTimeout(resolve, 10));
    await expect(child.kill9()).rejects.toThrow("a secret is in");
  });

  it("is stopped in peace when it has printed none", async () => {
    const child = printing("nothing to see");
    await child.kill9();
  });
});

async function asked(method: string, path: string, answer: string, header = "") {
  const server = createServer((_, response) => {
    response.setHeader("X-Told", header);
    response.end(JSON.stringify({ answer }));
  });
  const port = await freePort();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  try {
    return await new Client({ url: `http://127.0.0.1:${port}` }).ask(method, path);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe("an answer with a secret in it", () => {
  const accountKey = LEAKS["an account's key"] ?? "";
  const hookUrl = LEAKS["a hook URL"] ?? "";

  it.each([
    ["GET", `/v1/tasks/${ID}`, OPERATOR_KEY],
    ["GET", `/v1/tasks/${ID}`, WHSEC],
    ["GET", `/v1/tasks/${ID}`, hookUrl],
    ["GET", "/v1/signing-secrets", SECRETS.RELAY_SECRET],
    ["GET", "/v1/accounts/a/keys", accountKey],
    ["POST", "/v1/accounts/a/signing-secrets", accountKey],
    ["GET", "/healthz?x=/v1/signing-secrets", WHSEC],
  ])("fails the test that asked: %s %s", async (method, path, secret) => {
    await expect(asked(method, path, secret)).rejects.toThrow("a secret is in the answer");
    await expect(asked(method, path, "", secret)).rejects.toThrow("a secret is in the answer");
  });

  it.each([
    ["GET", "/v1/signing-secrets", WHSEC],
    ["POST", "/v1/accounts/a/keys", accountKey],
    ["GET", "/v1/accounts/a/signing-secrets", WHSEC],
    ["POST", "/v1/tasks", hookUrl],
  ])("is an answer where it is given on purpose: %s %s", async (method, path, secret) => {
    expect((await asked(method, path, secret)).status).toBe(200);
  });
});

/** Exit status of Vitest, with the reporter alone, on a test that prints one line. */
function runOf(line: string) {
  const root = mkdtempSync(join(tmpdir(), "task-relay-watch-"));
  try {
    const reporter = join(ROOT, "test/reporters/leak-reporter.ts");
    writeFileSync(
      join(root, "vitest.config.ts"),
      `import { LeakReporter } from ${JSON.stringify(reporter)};
export default { test: { globals: true, reporters: ["default", new LeakReporter()] } };`,
    );
    const print = `console.log(${JSON.stringify(line)});`;
    writeFileSync(join(root, "a.test.ts"), `it("prints", () => { ${print} });`);
    const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [vitest, "run", "--root", root],
      { cwd: ROOT, env: QUIET_ENV, encoding: "utf8" },
    );
    return { status, said: stdout + stderr };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

describe("a run of the suite", () => {
  it("fails when a test has printed a secret", () => {
    const { status, said } = runOf(`{"event":"a","key":"${OPERATOR_KEY}"}`);
    expect(said).toContain("a secret was printed");
    expect(said).toContain("1 passed");
    expect(status).toBe(1);
  });

  it("passes when it has printed none", () => {
    expect(runOf('{"event":"a"}')).toMatchObject({ status: 0 });
  });
});

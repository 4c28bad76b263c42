import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { Child, QUIET_ENV, ROOT } from "../harness/child.ts";
import { Client, OPERATOR_KEY, SECRETS } from "../harness/client.ts";
import { leaksIn, plant, refuseLeaksInAnswer } from "../harness/leaks.ts";
import { LoopbackServer } from "../harness/loopback.ts";

const WHSEC = `whsec_${"A".repeat(43)}=`;
const HEX = "0123456789abcdef".repeat(4);
const ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const ACCOUNT_KEY = `trk_acct-1_${HEX.slice(0, 48)}`;
const STATUS_URL = `https://relay.example.com/v1/tasks/${ID}?token=st_1795254355_1795600000_${"m".repeat(43)}`;
const HOOK_URL = `https://relay.example.com/hooks/ark/${ID}/${"t".repeat(43)}`;
/** Texts that count as leaks. They are built at run time, so that this file does not contain them. */
const LEAKS: Readonly<Record<string, string>> = {
  "an operator key": OPERATOR_KEY,
  "the relay's secret": SECRETS.RELAY_SECRET,
  "an upstream's key": "process-test-ark-key",
  "a secret of another project": ["test-only", "relay-secret-0123456789abcdef"].join("-"),
  "a signing secret": WHSEC,
  "a private key": `{"kty":"OKP","d":"${"x".repeat(43)}"}`,
  "an account's key": ACCOUNT_KEY,
  "a hook URL": HOOK_URL,
  "a status link": STATUS_URL,
  "a credential": `Authorization: Bearer ${HEX}`,
  "a signature": `v1,${"B".repeat(43)}=`,
  "a receiver's answer": "planted-body",
  "a query string": "https://client.example.net/?t=planted-token",
};

it.each(Object.entries(LEAKS))(
  "leaksIn, which searches texts for secrets, finds %s in a log line",
  (_what, secret) => {
    const line = JSON.stringify({ event: "request.failed", error: `Error: ${secret}!` });
    expect(leaksIn(`{"event":"a"}\n${line.replaceAll('\\"', '"')}\n`)).not.toEqual([]);
  },
);

it("leaksIn, which searches texts for secrets, reports the text before a secret that it finds, but not the secret itself", () => {
  const leaks = leaksIn(`the key is ${OPERATOR_KEY}`);
  expect(leaks).toEqual([expect.stringContaining("the key is ")]);
  expect(leaks.join()).not.toContain(OPERATOR_KEY);
});

it.each([
  '{"event":"task.completed","task_id":"6f9619ff-8b86-4d01-b42d-00cf4fc964ff","version":12}',
  '{"event":"request.refused","path":"/hooks/{provider}/{id}/{token}","code":"unknown_task"}',
  "An operator key is required: Authorization: Bearer <key>.",
  'WWW-Authenticate: Bearer realm="task-relay"',
  "SIGNING_SECRETS must be whsec_ and the base64 of 24 to 64 bytes, space-separated",
  "trk_acct-1_0123ab",
])(
  "leaksIn, which searches texts for secrets, reports nothing for a text that contains no secret: %s",
  (line) => {
    expect(leaksIn(line)).toEqual([]);
  },
);

it("stopping a test server throws an error if the server has printed a secret of the test, or any text in the form of a secret", async () => {
  const own = `own-${crypto.randomUUID()}`;
  plant(own);
  for (const [text, isLeak] of [
    [`before ${WHSEC} after`, true],
    [own, true],
    ["nothing to see", false],
  ] as const) {
    const script = `console.error(${JSON.stringify(text)})`;
    const child = new Child(process.execPath, ["-e", script], process.env);
    await vi.waitUntil(() => !child.isAlive, 30_000);
    const stopped = expect(child.kill9());
    if (isLeak) await stopped.rejects.toThrow("a secret is in the output of a server");
    else await stopped.resolves.toBeUndefined();
  }
});

async function ask(method: string, path: string, body: string, header = "") {
  await using server = await new LoopbackServer((_, response) => {
    response.setHeader("X-Test", header).end(JSON.stringify({ body }));
  }).listen();
  return await new Client({ url: server.origin }).ask(method, path);
}

it.each([
  ["GET", `/v1/tasks/${ID}`, "an operator key", OPERATOR_KEY],
  ["GET", `/v1/tasks/${ID}`, "a signing secret", WHSEC],
  ["GET", `/v1/tasks/${ID}`, "a hook URL", HOOK_URL],
  ["GET", `/v1/tasks/${ID}`, "a status link", STATUS_URL],
  ["GET", "/v1/signing-secrets", "the relay's secret", SECRETS.RELAY_SECRET],
  ["GET", "/v1/accounts/a/keys", "an account key", ACCOUNT_KEY],
  ["POST", "/v1/accounts/a/signing-secrets", "an account key", ACCOUNT_KEY],
  ["GET", "/healthz?x=/v1/signing-secrets", "a signing secret", WHSEC],
])(
  "the HTTP client of the tests throws an error if the response to %s %s contains %s",
  async (method, path, _what, secret) => {
    await expect(ask(method, path, secret)).rejects.toThrow("a secret is in the answer");
    await expect(ask(method, path, "", secret)).rejects.toThrow("a secret is in the answer");
  },
);

it.each([
  ["GET", "/v1/signing-secrets", WHSEC],
  ["POST", "/v1/accounts/a/keys", ACCOUNT_KEY],
  ["GET", "/v1/accounts/a/signing-secrets", WHSEC],
  ["POST", "/v1/tasks", HOOK_URL],
  ["POST", "/v1/tasks", STATUS_URL],
])(
  "the HTTP client of the tests accepts a secret in the response to %s %s, a route that returns secrets on purpose",
  (method, path, secret) => {
    expect(() => refuseLeaksInAnswer(`${method} ${path}`, new Headers(), secret)).not.toThrow();
  },
);

/** Runs one passing test that prints this line. */
function run(line: string) {
  const root = mkdtempSync(join(tmpdir(), "task-relay-leaks-"));
  try {
    const reporter = JSON.stringify(join(ROOT, "test/reporters/leak-reporter.ts"));
    const options = `{ globals: true, silent: "passed-only", reporters: ["default", new LeakReporter()] }`;
    writeFileSync(
      join(root, "vitest.config.ts"),
      `import { LeakReporter } from ${reporter};\nexport default { test: ${options} };`,
    );
    const print = `console.log(${JSON.stringify(line)});`;
    writeFileSync(join(root, "a.test.ts"), `it("prints", () => { ${print} });`);
    const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
    const args = [vitest, "run", "--root", root];
    const spawnOptions = { cwd: ROOT, env: QUIET_ENV, encoding: "utf8" } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, args, spawnOptions);
    return { status, output: stdout + stderr };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

it("a Vitest run fails when a passing test has printed a secret, although the run hides what passing tests print", () => {
  const { status, output } = run(`{"event":"a","key":"${OPERATOR_KEY}"}`);
  expect(output).toContain("a secret was printed");
  expect(output).toContain("1 passed");
  expect(status).toBe(1);
});

it("a Vitest run passes when no test has printed a secret", () => {
  expect(run('{"event":"a"}')).toMatchObject({ status: 0 });
});

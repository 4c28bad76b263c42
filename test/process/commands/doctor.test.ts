import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { doctorKeyIn } from "../../../scripts/doctor/operator-key.ts";
import { operatorKeyIn } from "../../../scripts/operator-keys.ts";
import { OPERATOR_KEY, SECRETS } from "../harness/client.ts";
import { ROOT } from "../harness/child.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { closedPort, Receiver } from "../harness/receiver.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";
import { Workerd } from "../harness/workerd.ts";
import {
  INVALID,
  OPERATOR_KEYS as PLANTED_KEYS,
  RELAY_SECRETS,
  UPSTREAM_KEY,
  WEBHOOK_SECRET,
} from "../secrets/values.ts";

const vars = { ...SECRETS, ALLOW_LOCAL_CALLBACKS: "true" };
const relay = await forThisFile(WranglerDev.start({ vars, hasLimits: true }));

/** Runs `npm run doctor` with these arguments. */
async function doctor(args: readonly string[], key = OPERATOR_KEY) {
  const child = spawn(process.execPath, ["scripts/doctor.ts", ...args], {
    cwd: ROOT,
    env: { ...process.env, OPERATOR_KEY: key },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { status: await exit, lines: stdout.trim().split("\n"), stderr };
}

it("npm run doctor reports no problem with a relay that was just started", async () => {
  const { status, lines, stderr } = await doctor(["--url", relay.url]);
  expect([stderr, status]).toEqual(["", 0]);
  expect(lines).toEqual([
    "ok           configuration: valid",
    "ok           secrets: 1 in RELAY_SECRET, 1 in OPERATOR_KEYS",
    "ok           providers: 0 with an API key",
    "ok           outputs: not kept, links are the upstream's unless they need its key (npm run setup -- --outputs)",
    "ok           limits: LIMIT_TESTS, LIMIT_BULK, LIMIT_LISTS, LIMIT_SUBMITS, LIMIT_LINKS, LIMIT_REFUSALS",
    "ok           clock: within 60 s of this one",
    "ok           hooks: reach the relay",
    "ok           callback: delivered",
    "ok           index: on; not counted yet",
    "ok           late alarms: none",
    expect.stringContaining("index size: "),
  ]);
});

it("npm run doctor names what it could not check: callbacks to this machine, which the relay forbids, late alarms without an index, and rate limits without bindings", async () => {
  await using plain = await Workerd.start({ vars: SECRETS, hasIndex: false });
  const { status, lines } = await doctor(["--url", plain.url]);
  expect(status).toBe(0);
  expect(lines).toContain(
    "not checked  callback: a receiver on this machine needs ALLOW_LOCAL_CALLBACKS",
  );
  expect(lines.join("\n")).toContain("not checked  late alarms: there is no index");
  expect(lines.join("\n")).toContain(
    "not checked  limits: LIMIT_TESTS, LIMIT_BULK, LIMIT_LISTS, LIMIT_SUBMITS, LIMIT_LINKS, LIMIT_REFUSALS are not bound",
  );
});

it.each([
  [
    "answers 500: rejected, with the cure",
    500,
    "callback: rejected (500). Cure: the receiver must answer 2xx",
  ],
  [
    "has a name that Cloudflare cannot resolve: unreachable, with the cure",
    530,
    "callback: unreachable (530, Cloudflare's error 1016). Cure:",
  ],
  [
    "answers with a redirect: redirected, with the cure",
    302,
    "callback: redirected (302). Cure: give the URL",
  ],
  ["answers 204: delivered", 204, "callback: delivered"],
])(
  "npm run doctor --to URL sends a test callback to the URL, and reports its outcome when the receiver %s",
  async (_, code, expected) => {
    await using receiver = await Receiver.start();
    const answer = { status: code, headers: { Location: "/x" }, body: "error code: 1016" };
    const url = receiver.at("/to", { kind: "answer", ...answer });
    const { status, lines } = await doctor(["--url", relay.url, "--to", url]);
    expect(status).toBe(code === 204 ? 0 : 1);
    expect(lines.join("\n")).toContain(expected);
    expect(receiver.posts).toHaveLength(1);
  },
);

it("npm run doctor --to URL reports a problem when the receiver cannot be reached, and when the relay refuses the URL", async () => {
  const closed = await doctor(["--url", relay.url, "--to", await closedPort()]);
  expect(closed.lines.join("\n")).toContain("PROBLEM      callback: unreachable");
  const refused = await doctor(["--url", relay.url, "--to", "http://10.0.0.1/"]);
  expect(refused.lines.join("\n")).toContain("callback: the relay answered 400 invalid_request");
  expect([closed.status, refused.status]).toEqual([1, 1]);
});

it("npm run doctor reports that the operator key is wrong, and still makes the checks that need no key", async () => {
  const { status, lines } = await doctor(["--url", relay.url], "a-key-that-is-wrong");
  expect(status).toBe(1);
  expect(lines[0]).toContain("PROBLEM      operator key: the relay refuses it. Cure: ");
  expect(lines.at(-1)).toBe("ok           hooks: reach the relay");
});

it("npm run doctor with a key of the role metrics sends no test callback, names the roles whose keys may send one, and reports no problem", async () => {
  const OPERATOR_KEYS = `metrics:grafana=${OPERATOR_KEY}`;
  await using plain = await Workerd.start({ vars: { ...vars, OPERATOR_KEYS } });
  const { status, lines } = await doctor(["--url", plain.url]);
  expect(status).toBe(0);
  expect(lines.filter((line) => !line.startsWith("ok"))).toEqual([
    expect.stringContaining("not checked  limits: "),
    "not checked  offers: they cannot be read with this key (status 403)",
    expect.stringContaining("not checked  clock: "),
    "not checked  callback: set OPERATOR_KEY to a key with the role operate or all",
  ]);
});

it("npm run doctor and npm run demo take from a file of secrets the first operator key whose role permits the request, without the role and label before the key", () => {
  const [metrics, ci] = ["a-key-for-the-metrics", "a-key-for-deployments"];
  const content = `OPERATOR_KEYS="metrics:${metrics} operate:ci=${ci} all:alice=${OPERATOR_KEY}"`;
  expect(operatorKeyIn(content, "statistics")).toBe(metrics);
  expect(doctorKeyIn(content)).toBe(ci);
  expect(operatorKeyIn(content, "administer")).toBe(OPERATOR_KEY);
  expect(operatorKeyIn(`OPERATOR_KEYS="metrics:${metrics}"`, "redeliver")).toBeNull();
});

it("when no operator key in a file of secrets may send test callbacks, npm run doctor uses the first key in the file", () => {
  const [metrics, alice] = ["a-key-for-the-metrics", "a-key-of-alice-for-reading"];
  expect(doctorKeyIn(`OPERATOR_KEYS="metrics:${metrics} read:alice=${alice}"`)).toBe(metrics);
  expect(doctorKeyIn("")).toBeNull();
});

it("when the configuration of the relay is invalid, npm run doctor names the variable that is wrong", async () => {
  await using broken = await Workerd.start({ vars: { ...SECRETS, LOCATION_HINT: "moon" } });
  const { status, lines } = await doctor(["--url", broken.url]);
  expect(status).toBe(1);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^PROBLEM\s+configuration: LOCATION_HINT must be one of .+ Cure: /);
});

it("npm run doctor prints no secret, neither for a valid relay, nor for one with an invalid configuration, nor with a wrong key", async () => {
  const [secret, key, other] = [RELAY_SECRETS[0] ?? "", PLANTED_KEYS[0] ?? "", randomUUID()];
  const CONNECTIONS = JSON.stringify({
    rep: { provider: "replicate", key: UPSTREAM_KEY, webhook_secret: WEBHOOK_SECRET },
  });
  const given = { RELAY_SECRET: secret, OPERATOR_KEYS: key, CONNECTIONS, FAL_KEY: UPSTREAM_KEY };
  const printed: string[] = [];
  const examine = async (url: string, sent: string) => {
    const { lines, stderr } = await doctor(["--url", url], sent);
    printed.push(...lines, stderr);
  };
  await using plain = await Workerd.start({ vars: given });
  await examine(plain.url, key);
  await examine(plain.url, other);
  for (const [name, value] of INVALID) {
    await plain.restart({ ...given, [name]: value });
    await examine(plain.url, key);
  }
  const output = printed.join("\n");
  expect(output).toContain("ok           providers: 2 with an API key");
  expect(output).toContain("PROBLEM      configuration: RELAY_SECRET");
  // A secret that an invalid value has cut in half would show too.
  const secrets = [secret, key, other, UPSTREAM_KEY, WEBHOOK_SECRET].flatMap((each) => [
    each.slice(0, 24),
    each.slice(-24),
  ]);
  expect(secrets.filter((each) => output.includes(each))).toEqual([]);
});

it("npm run doctor exits with status 2 and a one-line error when no relay listens at the given URL", async () => {
  const { status, stderr } = await doctor(["--url", await closedPort()]);
  expect(status).toBe(2);
  expect(stderr).toMatch(
    /^http:\/\/127\.0\.0\.1:\d+ cannot be reached: ECONNREFUSED\. Cure: .+\n$/,
  );
});

it.each([
  [[]],
  [["--url", "relay.example.com"]],
  [["--relay", "x"]],
  [["--url", "https://relay.example.com", "--env", "staging"]],
])(
  "npm run doctor exits with status 2 and prints its usage when called with the invalid arguments %j",
  async (args) => {
    const { status, stderr } = await doctor(args);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^Usage: npm run doctor .+\n$/);
  },
);

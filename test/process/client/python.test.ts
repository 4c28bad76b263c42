import { expect, it } from "vitest";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { LoopbackServer } from "../harness/loopback.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";
import { findPython, PythonClient, PYTHONS } from "./python-client.ts";

const pythons = new Map(
  await Promise.all(PYTHONS.map(async (version) => [version, await findPython(version)] as const)),
);
const newest = [...pythons.values()].findLast((python) => python !== null) ?? null;
if (newest === null && process.env["CI"]) throw new Error("Python is not installed");

const client = await forThisFile(PythonClient.make());
const tools = newest === null ? null : await client.build(newest);
const relay = await forThisFile(WranglerDev.start({ vars: { ...LOCAL_VARS, SANDBOX: "true" } }));
const restarter = await forThisFile(
  new LoopbackServer((_, response) => {
    void relay.restart().then(() => response.writeHead(204).end());
  }).listen(),
);
const running = {
  RELAY_URL: relay.url,
  RELAY_KEY: OPERATOR_KEY,
  RELAY_RESTART_URL: restarter.origin,
};

it.for(PYTHONS)(
  "on Python %s, the wheel of the Python client passes its tests, blocking, with asyncio and with trio, also while the relay is killed and started again",
  async (version, { skip }) => {
    const python = pythons.get(version) ?? null;
    if (python === null) return skip(`Python ${version} is not installed`);
    const environment = await client.installed(python, version);
    expect(await environment.runWith(running, "pytest", "--quiet")).toMatch(/^\d+ passed/m);
  },
);

it.for([
  ["the packages are as PyPI takes them", "twine", "check", "--strict", "PACKAGES"],
  ["the types are right by mypy's strict rules", "mypy"],
  ["ruff finds nothing to correct", "ruff", "check", "--no-cache"],
  ["the files are formatted as ruff does it", "ruff", "format", "--no-cache", "--check"],
  ["src/task_relay/schema.py is what openapi.json is today", "generate_types", "--check"],
])("of the Python client, %s", async ([, module = "", ...args], { skip }) => {
  if (tools === null) return skip("Python is not installed");
  const packages = [...(await client.packages(".whl")), ...(await client.packages(".tar.gz"))];
  expect(packages).toHaveLength(2);
  const given = args.flatMap((arg) => (arg === "PACKAGES" ? packages : [arg]));
  await tools.run(module, ...given);
});

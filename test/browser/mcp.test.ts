import { build } from "esbuild";
import { expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../process/harness/client.ts";
import { forThisFile } from "../process/harness/for-this-file.ts";
import { LoopbackServer } from "../process/harness/loopback.ts";
import { Workerd } from "../process/harness/workerd.ts";
import { openPage } from "./browser.ts";

const BODY = { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] };
const OFFERS = [
  { connection: "sandbox", path: "/jobs", models: ["sandbox/ok"], tool: "video", body: BODY },
];
const vars = { ...LOCAL_VARS, SANDBOX: "true", OFFERS: JSON.stringify(OFFERS) };
const relay = await forThisFile(Workerd.start({ vars }));
/** Site of a client, on another origin than the relay. */
const site = await forThisFile(
  new LoopbackServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>Client</title>");
  }).listen(),
);

/** Client of MCP in a page: connects, calls a tool of an offer, reads the task, and is refused with a wrong key. */
const SCRIPT = `
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

export async function drive({ url, key, mode }) {
  const connected = async (token) => {
    const client = new Client({ name: "page", version: "1" }, { versionNegotiation: { mode } });
    client.onerror = (error) => errors.push(String(error));
    const requestInit = { headers: { Authorization: "Bearer " + token, "X-Own": "1" } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return client;
  };
  const errors = [];
  const client = await connected(key);
  const { tools } = await client.listTools();
  const started = await client.callTool({ name: "video", arguments: { prompt: "a fox" } });
  const { id } = started.structuredContent.task;
  const read = await client.callTool({ name: "read_task", arguments: { id, wait: 30 } });
  const own = [...errors];
  await client.close();
  const refused = await connected("wrong-key").catch((error) => error.status ?? error.data?.status);
  return { tools: tools.map(({ name }) => name), status: read.structuredContent.status, refused, errors: own };
}`;

it.each(["modern", "legacy"] as const)(
  "in Chromium, a page of another site with an MCP client of the %s protocol version can call a tool of the relay, and can read why a wrong API key is refused",
  async (mode) => {
    const { outputFiles } = await build({
      stdin: { contents: SCRIPT, resolveDir: ROOT },
      bundle: true,
      format: "iife",
      globalName: "page",
      platform: "browser",
      write: false,
    });
    const page = await openPage(site.origin, {
      origins: [relay.url],
      expected: [/status of (?:401|405)/, /favicon/],
    });
    await page.goto("/");
    await page.addScriptTag({ content: outputFiles[0]?.text ?? "" });
    const given = {
      url: `${relay.url}/mcp`,
      key: OPERATOR_KEY,
      mode: mode === "modern" ? { pin: "2026-07-28" } : mode,
    };
    const seen = await page.evaluate(
      (input): Promise<unknown> => Reflect.get(globalThis, "page").drive(input),
      given,
    );
    expect(seen).toEqual({
      tools: ["video", "read_task", "list_tasks", "cancel_task"],
      status: "completed",
      refused: 401,
      errors: [],
    });
  },
);

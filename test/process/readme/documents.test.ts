import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { Child, ROOT } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { Checkout, newcomersEnvironment } from "./checkout.ts";
import {
  type Addresses,
  pageScript,
  referenceCommands,
  referenceScript,
  relayOptions,
  unmetExpectations,
} from "./page-script.ts";
import { documents, savedFiles, shellBlocks } from "./shell-blocks.ts";

/** The documents with blocks that other tests run, because these install packages, or fail at first on purpose. */
const ELSEWHERE = new Map([
  ["client/README.md", "test/process/client/packed.test.ts"],
  ["docs/adding-a-provider.md", "test/process/scaffold/new-provider.test.ts"],
]);
/** Status codes of answers to a request that is malformed or not permitted, or at a relay that fails. */
const REFUSED = new Set(["400", "401", "403", "405", "413", "429", "500", "503"]);
const openApi = z
  .object({
    paths: z.record(z.string(), z.record(z.string(), z.object({ responses: z.object().loose() }))),
  })
  .parse(JSON.parse(readFileSync(join(ROOT, "openapi.json"), "utf8")));
/** The walk-through that runs last, because it ends with the deletion of the account that others use. */
const LAST = "docs/accounts.md";

// The commands of the pages in Chinese are those of the English ones (test/lint/chinese-pages.test.ts).
const blocks = documents()
  .filter((page) => !ELSEWHERE.has(page) && !page.startsWith("docs/zh/"))
  .flatMap(shellBlocks)
  .filter(({ needsAccount }) => !needsAccount);
const pages = [...new Set(blocks.map(({ page }) => page))].toSorted(
  (a, b) => Number(a === LAST) - Number(b === LAST),
);

const clone = new Checkout();
const addresses: Addresses = {
  relay: await freePort(),
  receiver: await freePort(),
  ownReceiver: await freePort(),
};
const relay = `http://localhost:${addresses.relay}`;
const started: Child[] = [];
const env = newcomersEnvironment();

beforeAll(async () => {
  // What a page switches on in `wrangler.toml`, the relay must have from its start, and is no change of the page.
  clone.run("npm run setup -- --outputs && git add -A", env);
  const options = ["--port", String(addresses.relay), "--inspector-port", "0"];
  const args = ["--prefix", clone.directory, "start", "--", ...options, ...relayOptions(blocks)];
  const server = new Child("npm", args, env);
  started.push(server);
  await server.answering(`${relay}/healthz`);

  env["OPERATOR_KEY"] = clone.run(". ./.dev.vars; echo ${OPERATOR_KEYS%% *}").trim();
  await ask("/v1/accounts", { id: "acme" });
  await ask("/v1/accounts", { id: "globex" });
  const made = await ask("/v1/accounts/acme/keys", { label: "of the documents" });
  env["ACCOUNT_KEY"] = z.object({ key: z.string() }).parse(made).key;
  const secrets = z.object({ callbacks: z.tuple([z.string()]) });
  [env["CALLBACK_SECRET"]] = secrets.parse(await ask("/v1/signing-secrets")).callbacks;

  save("docs/quickstart.md");
  const receiver = join(clone.directory, "receiver.mjs");
  started.push(new Child("node", [receiver], { ...env, PORT: String(addresses.receiver) }));
});

afterAll(async () => {
  for (const child of started) await child.kill9();
  clone[Symbol.dispose]();
});

it("npm start prints its address, the file with the key and what is switched on, and sets PUBLIC_URL to that address", async () => {
  const [server] = started;
  await expect
    .poll(() => server?.output, { timeout: 10_000 })
    .toMatch(/Switched on: .*ALLOW_LOCAL/);
  expect(server?.output).toContain("Operator key: OPERATOR_KEYS in .dev.vars");
  expect(server?.output).toContain(`Ready on ${relay}`);
  const problem = await fetch(`http://127.0.0.1:${addresses.relay}/nowhere`);
  expect(await problem.json()).toMatchObject({ type: `${relay}/docs/errors#not_found` });
});

it.each(pages)(
  "the shell blocks of %s run in order in a fresh clone, print what the page says, and change no file of the repository",
  (page) => {
    save("docs/quickstart.md");
    save(page);
    const script = pageScript(
      blocks.filter((block) => block.page === page),
      addresses,
    );
    const output = clone.run(script, { ...env, PORT: String(addresses.ownReceiver) });
    expect(unmetExpectations(output), output).toEqual([]);
    if (script.includes("node receiver.mjs")) {
      // The receiver says so once for each task, also when its callback is sent again.
      const verified = output.match(/verified: task \S+ is completed/g) ?? [];
      expect(verified).toEqual([...new Set(verified)]);
      expect(verified.length).toBeGreaterThan(0);
    }
    expect(clone.run("git diff --name-only && git clean -fdq")).toBe("");
  },
);

it("each command in the API reference at /docs, when run against the relay, is permitted, well-formed, and answered with a status documented for its route", async () => {
  const page = await fetch(`${relay}/docs`);
  const html = (await page.text()).replaceAll("acme", "globex");
  // A WebSocket needs a program.
  const commands = referenceCommands(html, relay).filter(({ path }) => path !== "/v1/listen");
  const output = clone.run(referenceScript(commands), { ...env, KEY: env["OPERATOR_KEY"] });
  const answers = commands.map(({ method, path }, at) => {
    const { responses = {} } = openApi.paths[path]?.[method.toLowerCase()] ?? {};
    const expected = Object.keys(responses).filter((status) => !REFUSED.has(status));
    const status = output.split("\n")[at] ?? "";
    return { route: `${method} ${path}`, status, isExpected: expected.includes(status) };
  });
  const routes = Object.values(openApi.paths).flatMap((methods) => Object.keys(methods));
  expect(answers).toHaveLength(routes.length - 1);
  expect(answers.filter(({ isExpected }) => !isExpected)).toEqual([]);
});

it("npm start does the work of the cron trigger each minute, so that the overview has numbers without a command", async () => {
  const [server] = started;
  await expect.poll(() => server?.output, { timeout: 70_000 }).toContain('"event":"index.counts"');
}, 80_000);

/** Saves the files that a page tells its reader to save. */
function save(page: string): void {
  for (const [name, content] of savedFiles(page)) {
    writeFileSync(join(clone.directory, name), content);
  }
}

async function ask(path: string, body?: object): Promise<unknown> {
  // A connection that is kept open may be closed by the relay while a page's blocks run, which this process cannot notice.
  const headers = { Authorization: `Bearer ${env["OPERATOR_KEY"] ?? ""}`, Connection: "close" };
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(`${relay}${path}`, { headers, ...init });
  expect(answer.ok).toBe(true);
  return answer.json();
}

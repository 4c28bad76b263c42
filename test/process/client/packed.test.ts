import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as z from "zod";
import { Child, ROOT } from "../harness/child.ts";
import { completedEvent, LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { anchorsIn, localLinks } from "../../lint/markdown-links.ts";
import { BundledWorker } from "./bundled-worker.ts";
import { PackedClient } from "./packed-client.ts";
import { EXPECTED } from "./expected.ts";
import { scenarioInput } from "./scenario-input.ts";
import { VIDEO_KEY, videoText, VideoUpstream, WORDS } from "./video-upstream.ts";

const upstream = await forThisFile(VideoUpstream.start());
const vars = { ...LOCAL_VARS, ...upstream.vars, LISTEN: "true", SANDBOX: "true" };
const [client, relay, receiver] = await Promise.all([
  forThisFile(PackedClient.install()),
  forThisFile(Workerd.start({ vars })),
  forThisFile(Receiver.start()),
]);
const input = await scenarioInput(relay, receiver);

it.for([
  ["Node", process.execPath, []],
  ["Deno", "deno", ["run", "--allow-all"]],
  ["Bun", "bun", ["run"]],
] as const)(
  "on %s, the npm package of the client submits, registers, reports, awaits and cancels tasks of a running relay, and verifies its callbacks",
  async ([runtime, command, args], { skip }) => {
    const version = await client.run(command, "--version").catch(() => null);
    skip(version === null, `${runtime} is not installed`);
    process.env["SCENARIO"] = JSON.stringify(input);
    const output = await client.run(command, ...args, "on-node.ts");
    expect(JSON.parse(output)).toEqual(EXPECTED);
  },
);

it("on workerd, a Worker with the npm package of the client submits, registers, reports, awaits and cancels tasks of a running relay, and verifies callbacks", async () => {
  const script = await client.workerScript();
  await using worker = await BundledWorker.start(client.directory, script, "2026-10-20");
  const response = await fetch(worker.url, { method: "POST", body: JSON.stringify(input) });
  expect(await response.json()).toEqual(EXPECTED);
});

it("the program listen in the client's npm package passes a callback of a running relay on to the address given as --to", async () => {
  const { client: operator } = relay;
  await operator.ask("POST", "/v1/accounts", { id: "listening" });
  const { json } = await operator.ask("POST", "/v1/accounts/listening/keys", {});
  const env = { ...process.env, TASK_RELAY_KEY: z.object({ key: z.string() }).parse(json).key };
  const program = join(client.directory, "node_modules/.bin/task-relay-client");
  const to = receiver.at("/listening", { kind: "answer", status: 200 });
  const args = [program, "listen", "--to", to, "--relay", relay.url];
  const listener = new Child(process.execPath, args, env);
  try {
    await listener.printed("Connected");
    const id = randomUUID();
    const event = { ...completedEvent(id, "listen:"), account: "listening" };
    await operator.ask("POST", "/v1/events", event);
    await listener.printed(`${id} attempt 1 · 200`);
  } finally {
    await listener.kill9();
  }
});

it("a project with strict TypeScript that uses the client's npm package compiles, and so do the package's type declarations", async () => {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    module: "nodenext",
    target: "es2024",
    lib: ["es2024", "dom"],
    types: [],
    noEmit: true,
    allowImportingTsExtensions: true,
  };
  const config = JSON.stringify({ compilerOptions, include: ["scenario.ts"] });
  await writeFile(join(client.directory, "tsconfig.json"), config);
  const compiler = join(ROOT, "client/node_modules/.bin/tsc");
  // A project with errors makes the compiler fail, and print them.
  await expect(client.run(compiler, "--project", ".").catch(outputOf)).resolves.toBe("");
});

const Failed = z.object({ stdout: z.string() });
const outputOf = (error: unknown) => Failed.parse(error).stdout;

it("the JavaScript blocks in the client's README run in order, and the receiver in them accepts a real callback and refuses a changed one", async () => {
  const blocks = await blocksOf("js");
  const { headers, body } = input.received;
  const checks = `
    const callback = (body) => new Request("https://c.test", { method: "POST", headers: ${JSON.stringify(headers)}, body });
    const bodies = [${JSON.stringify(body)}, ${JSON.stringify(`${body} `)}];
    const answers = await Promise.all(bodies.map((body) => receive(callback(body))));
    const { status } = await bound.read(id);
    console.log(JSON.stringify([data.status, status, ...answers.map((answer) => answer.status)]));`;
  const binding = `const env = { RELAY: { fetch: ({ url, headers }) => fetch(url.replace("https://relay", process.env.RELAY_URL), { headers: { ...Object.fromEntries(headers), Authorization: "Bearer " + process.env.RELAY_KEY } }) } };`;
  const code = [binding, ...blocks, checks].join("\n");
  const file = join(client.directory, "readme.js");
  await writeFile(file, code.replaceAll("https://client.example.com/hook", input.callbackUrl));
  Object.assign(process.env, {
    RELAY_URL: input.url,
    RELAY_KEY: input.key,
    CALLBACK_SECRET: input.keys[0],
  });
  const printed = (await client.run(process.execPath, file)).trim().split("\n");
  expect(printed.at(-1)).toBe('["ok","completed",204,401]');
  expect(printed).toContain("[ 'https://cdn.example.com/a.mp4' ]");
  expect(printed.join()).toContain("404 There is no task with this id.");
});

it.each([
  ["@ai-sdk/fal", (code: string) => code],
  [
    "@ai-sdk/replicate",
    (code: string) =>
      code
        .replaceAll("createFal", "createReplicate")
        .replaceAll(/\bfal\b(?=[".]| =)/g, "replicate")
        .replace("luma-dream-machine/ray-2", "acme/fox"),
  ],
])(
  "the code in the client's README for videos of the AI SDK generates a video with %s, and the callback arrives",
  async (sdk, adapted) => {
    const [code = ""] = (await blocksOf("ts")).filter((each) => each.includes("webhooksFor"));
    const path = `/${sdk}`;
    const prompt = `a fox that is ${WORDS.unhooked} for ${sdk}`;
    await client.link("ai", "@ai-sdk");
    const program = adapted(code)
      .replace(
        "https://client.example.com/hook",
        receiver.at(path, { kind: "answer", status: 204 }),
      )
      .replace("a fox", prompt);
    const printing = "console.log(new TextDecoder().decode(video.uint8Array));";
    await writeFile(join(client.directory, "generate.js"), `${program}\n${printing}`);
    await writeFile(join(client.directory, "hosts.js"), sendingTo(upstream.hosts));
    const keys = { FAL_KEY: VIDEO_KEY, REPLICATE_API_TOKEN: VIDEO_KEY };
    Object.assign(process.env, { RELAY_URL: input.url, RELAY_KEY: input.key, ...keys });
    const args = ["--import", "./hosts.js", "generate.js"];
    expect(await client.run(process.execPath, ...args)).toContain(videoText(prompt));
    await expect.poll(() => receiver.postsAt(path).length, { timeout: 10_000 }).toBe(1);
  },
);

it("each link in the README of the client's npm package leads to a heading of the page, a file of the package or another site", async () => {
  const home = join(client.directory, "node_modules/task-relay-client");
  const page = await readFile(join(home, "README.md"), "utf8");
  const anchors = anchorsIn(page);
  const broken = localLinks(page).filter(({ path, anchor }) => {
    if (path === "") return anchor === undefined || !anchors.includes(anchor);
    return path.startsWith("..") || !existsSync(join(home, path));
  });
  expect(broken).toEqual([]);
  expect(localLinks(page).length).toBeGreaterThan(0);
});

/** Returns the blocks of code of the README of the client in a language. */
async function blocksOf(mark: string): Promise<readonly string[]> {
  const readme = await readFile(join(ROOT, "client/README.md"), "utf8");
  const blocks = readme.matchAll(new RegExp(`^\`\`\`${mark}\\n([^]*?)^\`\`\`$`, "gm"));
  return Array.from(blocks, ([, code = ""]) => code);
}

/** Returns a module that sends the requests for these hosts elsewhere. */
function sendingTo(hosts: Readonly<Record<string, string>>): string {
  return `
    const { fetch } = globalThis;
    const hosts = ${JSON.stringify(hosts)};
    globalThis.fetch = (input, init) => {
      const { host, pathname, search } = new URL(input instanceof Request ? input.url : input);
      return fetch(host in hosts ? hosts[host] + pathname + search : input, init);
    };`;
}

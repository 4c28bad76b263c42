import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, expect, it } from "vitest";
import { Child, ROOT } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { Checkout, newcomersEnvironment } from "./checkout.ts";

const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const clone = new Checkout();

afterAll(() => clone[Symbol.dispose]());

function fenced(language: string): string[] {
  const blocks = readme.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"));
  return [...blocks].map(([, content]) => (content ?? "").trim());
}

it("the shell blocks of README.md run in order in a fresh clone and leave no change that git would show; npm start sets PUBLIC_URL to the address that it prints, and says where the key lies and what is switched on", async () => {
  const port = await freePort();
  let server: Child | null = null;
  const blocks = fenced("sh");
  expect(blocks).toContain("npm ci && npm run demo");
  expect(blocks).toContain("npm ci && npm test");
  try {
    for (const block of blocks) {
      const command = runnable(block, port);
      if (!block.startsWith("npm start")) clone.run(command);
      else {
        const args = ["-c", `cd ${clone.directory} && ${command}`];
        server = new Child("bash", args, newcomersEnvironment());
        await server.answering(`http://localhost:${port}/healthz`);
        await expect
          .poll(() => server?.output, { timeout: 10_000 })
          .toContain("Switched on: ALLOW_LOCAL_CALLBACKS");
        expect(server.output).toContain("Operator key: OPERATOR_KEYS in .dev.vars");
        expect(server.output).toContain(`Ready on http://localhost:${port}`);
        const problem = await fetch(`http://127.0.0.1:${port}/nowhere`);
        expect(await problem.json()).toMatchObject({
          type: `http://localhost:${port}/docs/errors#not_found`,
        });
      }
    }
  } finally {
    server?.signal("SIGKILL");
  }
  expect(clone.run("git status --porcelain")).toBe("");
});

it("npm run demo prints each step from registration to callback, and ends by itself when it has no terminal", async () => {
  const output = clone.run(`npm run demo -- --port ${await freePort()}`);
  const course = [
    /Relay: http:\S+/,
    /Console: http:\S+\/, where/,
    /Operator key: OPERATOR_KEYS in .dev.vars/,
    /Switched on: ALLOW_LOCAL_CALLBACKS, .*connection ark/,
    /POST http:\S+\/v1\/tasks/,
    /hook_url: http:\S+\/hooks\/ark\//,
    /"id": "cgt-\S+"/,
    /"status": "completed"/,
    /"outcome": "unreachable"/,
    /"x-attempt": "2"/,
    /body: \{"id":/,
    /signature: valid/,
    /"status": "delivered"/,
    /Console: http:\S+\/\n/,
    /Operator key: [\w-]{43}\n/,
    /Key of the account acme: trk_acme_/,
  ];
  const positions = course.map((line) => output.search(line));
  expect(positions).not.toContain(-1);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
});

it("the example receiver in README.md verifies the signature of a callback and recognizes a repeated callback", async () => {
  const [snippet] = fenced("js");
  const file = join(clone.directory, "receiver.mjs");
  writeFileSync(file, snippet ?? "");
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  process.env["CALLBACK_SECRET"] = secret;
  const { receive }: { receive: (request: Request) => Promise<unknown> } = await import(file);

  const body = fenced("json")[0] ?? "";
  const timestamp = new Date();
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(timestamp.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("msg_1", timestamp, body),
  };
  const request = (sent: string) =>
    new Request("https://client.test/", { method: "POST", headers, body: sent });
  await expect(receive(request(body))).resolves.toEqual({ task: JSON.parse(body), isNew: true });
  await expect(receive(request(body))).resolves.toMatchObject({ isNew: false });
  await expect(receive(request(`${body} `))).rejects.toThrow("No matching signature found");
});

/**
 * Changes a shell block so that it uses the installed packages and a port of its own, deploys nothing, and
 * runs one test file only.
 */
function runnable(block: string, port: number): string {
  return block
    .replace("npm ci && ", "")
    .replaceAll("localhost:8787", `localhost:${port}`)
    .replace(/^npm start -- /, `npm start -- --port ${port} --inspector-port 0 `)
    .replace("npx wrangler deploy", "npx wrangler deploy --dry-run")
    .replace("npm test", "npx vitest run --project core test/core/outcome.test.ts");
}

import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { afterAll, expect, it } from "vitest";
import { freshCheckout, PROJECT } from "./checkout.ts";

const readme = readFileSync(join(PROJECT, "README.md"), "utf8");
const clone = freshCheckout();
const started: number[] = [];

afterAll(() => {
  started.forEach(killGroup);
  clone.remove();
});

it("runs its shell blocks in order in a fresh clone, and leaves the clone clean", async () => {
  const blocks = fenced("sh");
  expect(blocks).toContain("npm ci && npm run demo");
  expect(blocks).toContain("npm ci && npm test");
  for (const block of blocks) {
    if (block.startsWith("npm start")) await startInBackground(block);
    else clone.run(runnable(block));
  }
  expect(clone.run("git status --porcelain")).toBe("");
});

it("shows a receiver that verifies a callback and knows it again", async () => {
  const [snippet] = fenced("js");
  const file = join(clone.directory, "receiver.mjs");
  writeFileSync(file, snippet ?? "");
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  process.env["CALLBACK_SECRET"] = secret;
  const { receive }: { receive: (request: Request) => Promise<unknown> } = await import(file);

  const body = fenced("json")[0] ?? "";
  const sent = () => new Request("https://client.test/", { method: "POST", headers, body });
  const timestamp = new Date();
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(timestamp.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("msg_1", timestamp, body),
  };
  await expect(receive(sent())).resolves.toEqual({ task: JSON.parse(body), isNew: true });
  await expect(receive(sent())).resolves.toEqual({ task: JSON.parse(body), isNew: false });
  const forged = new Request("https://client.test/", { method: "POST", headers, body: `${body} ` });
  await expect(receive(forged)).rejects.toThrow("No matching signature found");
});

function fenced(language: string): string[] {
  const blocks = readme.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"));
  return [...blocks].map(([, content]) => (content ?? "").trim());
}

/** What cannot be done here is narrowed: nothing is deployed, and the tests do not run themselves. */
function runnable(block: string): string {
  return block
    .replace("npx wrangler deploy", "npx wrangler deploy --dry-run")
    .replace("npm test", "npm test -- --project core test/core/outcome.test.ts");
}

function killGroup(id: number): void {
  try {
    process.kill(-id, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

async function startInBackground(block: string): Promise<void> {
  const child = spawn("bash", ["-c", block], {
    cwd: clone.directory,
    detached: true,
    stdio: "ignore",
  });
  if (child.pid !== undefined) started.push(child.pid);
  for (let tries = 0; tries < 300; tries++) {
    const response = await fetch("http://localhost:8787/healthz").catch(() => null);
    if (response?.ok === true) return;
    await sleep(100);
  }
  throw new Error(`${block} did not come up on http://localhost:8787`);
}

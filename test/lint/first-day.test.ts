import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { Child, ROOT } from "../process/harness/child.ts";
import { freePort } from "../process/harness/loopback.ts";

const page = readFileSync(join(ROOT, "docs/first-day.md"), "utf8");
const [introduction = "", ...sections] = page.split(/^## /m);
const blocksOf = (text: string) =>
  [...text.matchAll(/^```(.*)\n([^]*?)^```$/gm)].map(([, kind = "", code = ""]) => ({
    kind,
    code,
  }));

const directory = mkdtempSync(join(tmpdir(), "task-relay-first-day-"));
afterAll(() => rmSync(directory, { recursive: true }));

it.each(sections.map((section) => [section.split("\n")[0], section]))(
  "docs/first-day.md has shell commands for a real Cloudflare account, each with its expected result, in the section: %s",
  (_, section = "") => {
    const commands = section.split(/^```(?=sh account\n)/m).slice(1);
    expect(blocksOf(section)).toHaveLength(commands.length);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) expect(command).toMatch(/^Expected: ./m);
  },
);

it("the receiver of callbacks in docs/first-day.md answers with the status and after the wait that the URL's query states, says how many bytes it got, and logs each request as a line of JSON", async () => {
  const file = join(directory, "first-day.mjs");
  writeFileSync(file, blocksOf(introduction).find(({ kind }) => kind === "js")?.code ?? "");
  const port = await freePort();
  const receiver = new Child(process.execPath, [file], { ...process.env, PORT: String(port) });
  try {
    await receiver.listening(port);
    const headers = { "webhook-id": "msg_1", "x-attempt": "2" };
    const send = async (query: string) => {
      const init = { method: "POST", headers, body: "{}" };
      const sentAt = performance.now();
      const response = await fetch(`http://127.0.0.1:${port}/hook${query}`, init);
      const waitedMs = performance.now() - sentAt;
      return { status: response.status, waitedMs, text: await response.text() };
    };
    expect((await send("")).status).toBe(204);
    expect(await send("?status=500&check=4")).toMatchObject({ status: 500, text: '{"bytes":2}' });
    const late = await send("?wait=1");
    expect([late.status, late.waitedMs >= 990]).toEqual([204, true]);
    const lines = receiver.output.trim().split("\n");
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual(
      ["/hook", "/hook?status=500&check=4", "/hook?wait=1"].map((url) => ({
        at_ms: expect.any(Number),
        url,
        id: "msg_1",
        attempt: 2,
        headers: expect.objectContaining(headers),
      })),
    );
  } finally {
    await receiver.kill9();
  }
});

it("the command of docs/first-day.md that checks the times of callback attempts prints how many attempts followed another, and how late these were", ({
  skip,
}) => {
  skip(spawnSync("sh", ["-c", "command -v jq"]).status !== 0, "jq is not installed");
  const tasks = Array.from({ length: 100 }, (_, n) => {
    const late = [1000 + 180_000 + n, 1000 + 180_000 + n + 600_000 + 100 + n];
    return [1000, ...late].map((at, i) => logLine(`msg_${n}`, i + 1, at));
  });
  const other = JSON.stringify({ at_ms: 5, url: "/hook?wait=8", id: "msg_0", attempt: 1 });
  const log = [other, ...tasks.flat().toReversed()].join("\n");
  writeFileSync(join(directory, "callbacks.jsonl"), log);
  const section = sections.find((text) => text.startsWith("4. ")) ?? "";
  const command = blocksOf(section).find(({ code }) => code.includes("callbacks.jsonl"))?.code;
  const options = { cwd: directory, encoding: "utf8" } as const;
  expect(execFileSync("bash", ["-c", command ?? ""], options)).toBe("200 0 99 197\n");
});

/** Returns the line that the receiver of the page logs for an attempt of the check of punctual alarms. */
function logLine(id: string, attempt: number, at_ms: number): string {
  return JSON.stringify({ at_ms, url: "/hook?status=500&check=4", id, attempt, headers: {} });
}

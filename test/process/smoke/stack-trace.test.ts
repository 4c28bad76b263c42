import { expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Workerd } from "../harness/workerd.ts";

const relay = await forThisFile(Workerd.start({ vars: LOCAL_VARS, entry: "failing-objects.ts" }));
const ID = "0190a3a0-7a3c-7e6b-9a51-0f2d3c4b5a69";
const WITHIN_MS = 10_000;
const Failed = z.object({
  event: z.literal("request.failed"),
  error: z.string(),
  stack: z.string(),
});

/** Returns the log lines of failed requests. */
function failures(): readonly z.output<typeof Failed>[] {
  return relay.output.split("\n").flatMap((line) => {
    if (!line.includes('"request.failed"')) return [];
    return [Failed.parse(JSON.parse(line.slice(line.indexOf("{"))))];
  });
}

/** Makes a request that fails, and returns the line that the relay logs of it. */
async function failureOf(request: () => Promise<{ readonly status: number }>) {
  const before = failures().length;
  const { status } = await request();
  expect(status).toBe(500);
  // The line may reach this process after the answer.
  await vi.waitUntil(() => failures().length > before, WITHIN_MS);
  const [failure, ...others] = failures().slice(before);
  expect(others).toEqual([]);
  expect(failure?.error).toContain("planted defect");
  return failure;
}

it.each([
  ["readTask", "GET", `/v1/tasks/${ID}`],
  ["streamTask", "GET", `/v1/tasks/${ID}/events`],
  ["cancelTask", "POST", `/v1/tasks/${ID}/cancel`],
  ["redeliverTask", "POST", `/v1/tasks/${ID}/redeliver`],
])(
  "for an error thrown after an await in the function %s, the stack that the minified build logs contains this name",
  async (name, method, path) => {
    const failure = await failureOf(() => relay.client.ask(method, path));
    expect(failure?.stack).toMatch(new RegExp(String.raw`\bat async ${name} `));
  },
);

it("for an error thrown after an await in the handler of a console form, the stack that the minified build logs contains the handler's name", async () => {
  const { url } = relay;
  const send = (path: string, fields: Record<string, string>, cookie = "") =>
    fetch(url + path, {
      method: "POST",
      redirect: "manual",
      headers: { Origin: url, Cookie: cookie },
      body: new URLSearchParams(fields),
    });
  const login = await send("/login", { key: OPERATOR_KEY });
  const [cookie = ""] = (login.headers.get("Set-Cookie") ?? "").split(";");
  const failure = await failureOf(() => send(`/tasks/${ID}/cancel`, {}, cookie));
  expect(failure?.stack).toMatch(/\bat async cancelTask (?:.*\n)+.*\bat async cancel /);
});

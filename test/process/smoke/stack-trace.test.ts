import { expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Workerd } from "../harness/workerd.ts";

const relay = await forThisFile(Workerd.start({ vars: LOCAL_VARS, entry: "failing-objects.ts" }));
const ID = "0190a3a0-7a3c-7e6b-9a51-0f2d3c4b5a69";
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

it.each([
  ["readTask", "GET", `/v1/tasks/${ID}`],
  ["streamTask", "GET", `/v1/tasks/${ID}/events`],
  ["cancelTask", "POST", `/v1/tasks/${ID}/cancel`],
  ["redeliverTask", "POST", `/v1/tasks/${ID}/redeliver`],
])(
  "an error behind a wait in %s names it in the stack that the minified build logs",
  async (name, method, path) => {
    const before = failures().length;
    const { status } = await relay.client.ask(method, path);
    expect(status).toBe(500);
    const [failure, ...others] = failures().slice(before);
    expect(others).toEqual([]);
    expect(failure?.error).toContain("planted defect");
    expect(failure?.stack).toMatch(new RegExp(String.raw`\bat async ${name} `));
  },
);

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { storedBytes } from "../../src/core/stored-bytes.ts";
import { invalid, post, ProblemBody, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { expectUnchanged, stubOf, untilIdle, wake } from "./objects.ts";
import { anOutside, answering } from "./outside.ts";
import { aCompletion, CALLBACK_URL, finish, read, register, report, VIDEO } from "./tasks.ts";

useClock();

/**
 * Numbers whose JSON is just under 256 KB and of which 2.3 MB would be stored: 1e20 is written out, in two
 * bytes per character.
 */
const LONG = `{"n":[${"1e20,".repeat(52_000)}0],"note":"画"}`;
const PAGE_BYTES = 4096;
/** Links that are too many to be stored, but few enough for the largest permitted body of a hook. */
const LINKS = Array.from({ length: 10_000 }, (_, i) => `https://a.co/${i}`);
/** As many links as `LINKS`, about 7 MB in all. */
const LONG_LINKS = LINKS.map((link) => link.padEnd(700, "x"));

function sendLong(id: string): Promise<Response> {
  const event = JSON.stringify(aCompletion(id, { output: { urls: [VIDEO], metadata: {} } }));
  return post("/v1/events", event.replace('"metadata":{}', `"metadata":${LONG}`));
}

it("the storage in these tests refuses a value of more than 2 MB, as Cloudflare does, although workerd by itself would store it", async () => {
  await runInDurableObject(stubOf(crypto.randomUUID()), (_, { storage }) => {
    expect(() => storage.kv.put("task", "x".repeat(2_000_000))).toThrow("SQLITE_TOOBIG");
    expect(storage.kv.get("task")).toBeUndefined();
  });
});

it("the computed size of a stored value differs by less than 12 KB (three pages) from the number of bytes by which the database grows", async () => {
  const source = JSON.stringify([
    "画",
    "é".repeat(100_000),
    0.5,
    Array.from({ length: 20_000 }, () => 1.5),
  ]);
  const values: unknown[] = [...JSON.parse(source), "画".repeat(50_000), { a: "x".repeat(99_000) }];
  await runInDurableObject(stubOf(crypto.randomUUID()), (_, { storage }) => {
    storage.kv.put("task", "");
    const empty = storage.sql.databaseSize;
    for (const value of values) {
      storage.kv.put("task", value);
      const used = storage.sql.databaseSize - empty;
      expect(Math.abs(used - storedBytes(value))).toBeLessThan(3 * PAGE_BYTES);
    }
  });
});

it("an event within MAX_BODY_KB gets 413 when more than 1.7 MB of it would be stored, and the task can still end", async () => {
  anOutside().on(CALLBACK_URL, answering("thank you"));
  const id = await register();
  await expectUnchanged(id, async () => {
    const response = await sendLong(id);
    expect(response.status).toBe(413);
    const { code, detail } = ProblemBody.parse(await response.json());
    expect(code).toBe("payload_too_large");
    expect(detail).toContain("1700000 bytes as it is stored");
  });
  await finish(aCompletion(id));
  expect(await read(id)).toMatchObject({ status: "completed", callback: { status: "delivered" } });
});

it("a registration gets 413 and creates no task when more than 1 MB of it would be stored", async () => {
  const id = crypto.randomUUID();
  const body = `{"id":"${id}","model":"m","parameters":{"n":[${"1,".repeat(120_000)}1]}}`;
  await expectUnchanged(id, async () => {
    expect((await post("/v1/tasks", body)).status).toBe(413);
  });
});

it.each([
  [
    "a poll that finds a result with 10,000 links",
    LINKS,
    { REPLICATE_API_TOKEN: "test-only-token" },
  ],
  [
    "a poll that finds a result with 7 MB of links",
    LONG_LINKS,
    { REPLICATE_API_TOKEN: "test-only-token" },
  ],
  [
    "a hook that reports a result with 10,000 links, while no API key of its provider is configured,",
    LINKS,
    {},
  ],
])(
  "%s makes the task fail with upstream_error, because so large a result is not stored, and the callback says so",
  async (source, output, keys) => {
    const outside = anOutside();
    const job = { id: "job-1", status: "succeeded", output };
    outside.on("https://api.replicate.com", answering(job));
    outside.on(CALLBACK_URL, answering("thank you"));
    const task = await hooked({ provider: "replicate", bindings: { ...env, ...keys } });
    await attach(task, "job-1");
    if (source.startsWith("a poll")) await wake(task.id, 130_000);
    else expect((await sendHook(task, JSON.stringify(job))).status).toBe(200);
    await untilIdle(task.id);
    expect(await readHooked(task)).toMatchObject({
      status: "failed",
      error: { code: "upstream_error", message: expect.stringContaining("result too large") },
      failure: { category: "provider", retryable: false },
      callback: { status: "delivered" },
    });
    expect(outside.sentTo(CALLBACK_URL)).toMatchObject([{ headers: { "x-event": "task.failed" } }]);
  },
);

it.each([
  ["1,001 links that are all invalid", "/output/urls", Array.from({ length: 1_001 }, () => "x")],
  ["a link of 8,193 characters", "/output/urls/1", [VIDEO, VIDEO.padEnd(8_193, "x")]],
])("an event with %s gets 400 with a single issue, at the path %s", async (_, path, urls) => {
  const response = await report(aCompletion(await register(), { output: { urls } }));
  expect(await refusal(response)).toEqual(invalid(path));
});

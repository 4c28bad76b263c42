import { expect, it } from "vitest";
import { logIn, visit } from "./browser.ts";
import { useClock } from "./clock.ts";
import { aLinkedTask } from "./links.ts";
import { aReceiver } from "./receiver.ts";
import { aCompletion, finish, VIDEO } from "./tasks.ts";

useClock();

const MAX_PAGE_BYTES = 600_000;
const DEPTH = 58;

/** Results of nearly 256 KB, the largest body that the relay takes by default. */
const RESULTS: Readonly<Record<string, object>> = {
  "metadata with 124,000 numbers in 58 lists, one in another": {
    urls: [VIDEO],
    metadata: { x: nested(Array.from({ length: 124_000 }, () => 1)) },
  },
  "metadata of 8 KB with 4,000 numbers in 58 lists, one in another": {
    urls: [VIDEO],
    metadata: { x: nested(Array.from({ length: 4_000 }, () => 1)) },
  },
  "metadata with a text of 100,000 quotation marks": {
    urls: [VIDEO],
    metadata: { x: '"'.repeat(100_000) },
  },
  "metadata with a text of 80,000 invisible characters": {
    urls: [VIDEO],
    metadata: { x: "\u202E".repeat(80_000) },
  },
  "30 links with 8,000 characters & each, which HTML writes as &amp;": {
    urls: Array.from({ length: 30 }, (_, n) => `${VIDEO}?${n}${"&".repeat(8_000)}`),
  },
  "30 links with 2,500 invisible characters each": {
    urls: Array.from({ length: 30 }, (_, n) => `${VIDEO}?${n}${"\u200B".repeat(2_500)}`),
  },
};

function nested(innermost: unknown): unknown {
  let value = innermost;
  for (let level = 0; level < DEPTH; level++) value = [value];
  return value;
}

it.each(Object.entries(RESULTS))(
  "when a task's result has %s, the task's page behind its status link and its page in the console are each smaller than 600 KB",
  async (_, output) => {
    aReceiver();
    const { id, link } = await aLinkedTask();
    await finish(aCompletion(id, { output }));
    for (const response of [await visit(link), await visit(`/tasks/${id}`, await logIn())]) {
      expect(response.status).toBe(200);
      const page = await response.text();
      expect(page).toContain(VIDEO);
      expect(new TextEncoder().encode(page).length).toBeLessThan(MAX_PAGE_BYTES);
    }
  },
);

it("the page of a status link indents a result's metadata and offers to copy it; of huge metadata the page shows only the start and names the API", async () => {
  aReceiver();
  for (const [count, isOrdinary] of [
    [3, true],
    [50_000, false],
  ] as const) {
    const { id, link } = await aLinkedTask();
    const metadata = { seeds: Array.from({ length: count }, () => 7) };
    await finish(aCompletion(id, { output: { urls: [VIDEO], metadata } }));
    const page = await (await visit(link)).text();
    expect(page.includes("\n    7,\n    7")).toBe(isOrdinary);
    expect(page.includes('aria-label="Copy Output metadata"')).toBe(isOrdinary);
    expect(page.includes("the API returns all of it")).toBe(!isOrdinary);
  }
});

import { expect, it } from "vitest";
import { bytesPerCall, memoryByCalls } from "../../../bench/open-calls.ts";
import { isReadWithin, LARGE_BODIES } from "../../../bench/submit-heap.ts";

it.each([
  "mixed text",
  "numbers and brackets",
  "a string of escapes",
  "a string of escaped letters",
  "blanks",
])(
  "with a heap of 96 MB, workerd reads a submission's JSON body of 16 MB that consists of %s, finds the parameters in it, and adds a member to it",
  async (kind) => {
    const body = LARGE_BODIES.get(kind) ?? new Uint8Array();
    expect(await isReadWithin(96, body)).toBe(true);
  },
);

it("with a heap of only 20 MB, workerd fails to read a submission of 16 MB of mixed text, which shows that the tests of its memory really limit the heap", async () => {
  const body = LARGE_BODIES.get("mixed text") ?? new Uint8Array();
  expect(await isReadWithin(20, body)).toBe(false);
});

it("100 calls whose clients do not wait, with forms of 1 MiB, take less than 64 KB each of the isolate's memory while the upstream holds their answers", async () => {
  expect(bytesPerCall(await memoryByCalls([0, 100]))).toBeLessThan(64_000);
});

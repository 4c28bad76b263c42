import { expect, it } from "vitest";
import { isReadWithin, LARGE_BODIES } from "../../../bench/submit-heap.ts";

it.each([
  "mixed text",
  "numbers and brackets",
  "a string of escapes",
  "a string of escaped letters",
  "blanks",
])(
  "workerd reads 16 MB of %s, the JSON body of an account's submission, searches it for parameters, and sets a member in it, with a heap of 96 MB",
  async (kind) => {
    const body = LARGE_BODIES.get(kind) ?? new Uint8Array();
    expect(await isReadWithin(96, body)).toBe(true);
  },
);

it("workerd does not read 16 MB of mixed text with a heap of 20 MB, because the limit of the heap is kept", async () => {
  const body = LARGE_BODIES.get("mixed text") ?? new Uint8Array();
  expect(await isReadWithin(20, body)).toBe(false);
});

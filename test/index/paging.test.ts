import { describe, expect, it } from "vitest";
import { START, useClock } from "../worker/clock.ts";
import { aRow, insert, listAll, useEmptyIndex } from "./support.ts";

useClock();
useEmptyIndex();

const TASKS = 10_000;

describe("10,000 tasks, listed page by page while others arrive", () => {
  it.each([
    ["", null],
    ["&account=a", "a"],
  ])("come without a gap and without a repeat, newest first: %s", async (filter, account) => {
    // Several to the millisecond, as they come in a burst.
    const rows = Array.from({ length: TASKS }, (_, i) =>
      aRow({ createdAt: START - 10_000_000 + Math.floor(i / 3), account }),
    );
    for (let from = 0; from < TASKS; from += 2500) await insert(...rows.slice(from, from + 2500));
    const expected = rows
      .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id)
      .toReversed();
    let turn = 0;
    const arriving = async () => {
      turn += 1;
      const changed = rows[(turn * 97) % TASKS];
      if (changed === undefined) throw new Error("expected a task");
      await insert(aRow({ createdAt: START + turn, account }), {
        ...changed,
        version: changed.version + turn,
        status: "failed",
      });
    };
    expect(await listAll(`?limit=200${filter}`, arriving)).toEqual(expected);
    expect(turn).toBeGreaterThanOrEqual(TASKS / 200);
  });
});

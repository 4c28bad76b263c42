import { describe, expect, it } from "vitest";
import { type DaySpend, reportDays, spentOf, sumOf } from "../../src/core/spend.ts";

const NOTHING = { charged: 0, refunded: 0, released: 0, charges: 0, refunds: 0 };

function aDay(day: number, change: number): DaySpend {
  return {
    ...NOTHING,
    day,
    change,
    charged: 50,
    refunded: 20,
    released: 5,
    charges: 2,
    refunds: 1,
  };
}

it("what charges cost is what was charged, less what was refunded and released", () => {
  expect(spentOf(aDay(1, 0))).toBe(25);
  expect(spentOf(sumOf([aDay(1, 0), aDay(2, 0)]))).toBe(50);
  expect(sumOf([])).toEqual(NOTHING);
});

it("the sum of what several days cost has the number of their charges and of their refunds", () => {
  const spends = [aDay(1, 0), { ...aDay(2, 0), charges: 7, refunds: 3 }];
  expect(sumOf(spends)).toEqual({
    charged: 100,
    refunded: 40,
    released: 10,
    charges: 9,
    refunds: 4,
  });
});

describe("the report of an account's days", () => {
  const days = [aDay(10, 100), aDay(12, -30), aDay(13, -7)];

  it("has each day of the window, with the balance at its end, also a day without entries", () => {
    const found = reportDays(63, days, { since: 9, until: 14 });
    expect(found.map(({ day, balance, charges }) => [day, balance, charges])).toEqual([
      [9, 0, 0],
      [10, 100, 2],
      [11, 100, 0],
      [12, 70, 2],
      [13, 63, 2],
    ]);
  });

  it("takes the changes of days after the window off the present balance", () => {
    const found = reportDays(63, days, { since: 11, until: 13 });
    expect(found.map(({ day, balance }) => [day, balance])).toEqual([
      [11, 100],
      [12, 70],
    ]);
  });

  it("has no day when the window is empty", () => {
    expect(reportDays(63, days, { since: 14, until: 14 })).toEqual([]);
  });
});

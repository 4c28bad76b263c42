import { expect, it } from "vitest";
import { html } from "hono/html";
import { DAY_SCHEDULE_MS } from "../../../src/api/callbacks/callback-schedule.ts";
import { ScheduleDrawing } from "../../../src/console/endpoints/schedule-drawing.tsx";
import { SECOND } from "../builders.ts";

it.each<[string, readonly number[]]>([
  ["of the word day", DAY_SCHEDULE_MS],
  ["of ten attempts at once", Array.from({ length: 10 }, () => 0)],
  ["of a first wait and two more", [5 * SECOND, SECOND, 600 * SECOND]],
])(
  "the console draws each attempt of a schedule on the time axis, in order of time, within the drawing, and without covering another: %s",
  async (_what, waitsMs) => {
    const drawing = String(await html`${ScheduleDrawing({ waitsMs })}`);
    const height = Number(/<svg class="schedule" height="(\d+)"/.exec(drawing)?.[1]);
    const marks = [...drawing.matchAll(/<circle cx="(.+?)%" cy="(.+?)" r="9"/g)].map(
      ([, x, y]) => ({ x: Number(x), y: Number(y) }),
    );
    expect(marks).toHaveLength(waitsMs.length);
    const xs = marks.map(({ x }) => x);
    expect(xs).toEqual(xs.toSorted((a, b) => a - b));
    expect(marks.filter(({ x, y }) => x < 3 || x > 97 || y < 9 || y > height - 9)).toEqual([]);
    const covering = marks.filter((mark, at) =>
      marks.slice(0, at).some(({ x, y }) => Math.abs(x - mark.x) < 7 && Math.abs(y - mark.y) < 18),
    );
    expect(covering).toEqual([]);
    const areSentTogether = waitsMs.map((waitMs, at) => at > 0 && waitMs === 0);
    expect(xs.map((x, at) => at > 0 && x === xs[at - 1])).toEqual(areSentTogether);
  },
);

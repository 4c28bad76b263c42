import { readFileSync } from "node:fs";
import { join } from "node:path";
import { html } from "hono/html";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { TimelineDrawing } from "../../src/console/task/timeline-drawing.tsx";
import { type Timeline, timelineOf } from "../../src/console/task/timeline.ts";
import { taskFacts } from "../../src/core/views/task-facts.ts";
import type { CreatedTask } from "../../src/core/record/task.ts";
import {
  aCallback,
  aFinishedTask,
  anAttempt,
  DAY,
  HOUR,
  MINUTE,
  NOW,
  POLICY,
  SECOND,
} from "../core/builders.ts";
import { credits } from "../core/credit-builders.ts";
import { anAccepted } from "../core/stored-submissions.ts";
import { ROOT } from "../process/harness/child.ts";
import { Random } from "../simulation/random.ts";
import { runSeed } from "../simulation/run.ts";
import { openPage } from "./browser.ts";

const LIVES = 100;
const SEED = 20_261_130;
/** Widths of the timeline in pixels, one for each size of its text. */
const WIDTHS = [660, 900, 1_250];
const CSS = readFileSync(join(ROOT, "src/console/client/console.css"), "utf8");

/** Draws simulated lives of tasks: of each task its last state, and one in the middle of its life. */
async function simulatedTimelines(): Promise<readonly Timeline[]> {
  const timelines: Timeline[] = [];
  for (let life = 0; life < LIVES; life++) {
    const { world } = await runSeed(SEED + life);
    const shown = world.checker.records.flatMap((record) =>
      record.status === "charging" ? [] : record,
    );
    for (const record of new Set([shown[shown.length >> 1], shown.at(-1)])) {
      if (record !== undefined) timelines.push(drawn(record, world.now));
    }
  }
  return timelines;
}

/** Draws lives with every kind of event and many attempts, at random times that are often close together. */
function crowdedTimelines(): readonly Timeline[] {
  return Array.from({ length: LIVES }, (_, life) => {
    const random = new Random(SEED + life);
    let now = NOW;
    const later = () => (now += random.pick([0, 1, 20, 400, 5 * SECOND, MINUTE, HOUR, DAY]));
    const submission = { ...anAccepted(null), startedAt: later() };
    const state = { ...submission.state, answeredAt: later(), statusCode: 200 } as const;
    const upstreamTimes = { attachedAt: later(), hookAt: later(), askedAt: later() };
    const finishedAt = later();
    const refunded = credits({ kind: "refunded", at: later() });
    const attempts = Array.from({ length: 1 + random.below(6) }, (__, series) =>
      Array.from({ length: 1 + random.below(5) }, () => ({ series: series + 1, dueAt: later() })),
    ).flat();
    const callback = aCallback({
      attempts: attempts.map(({ series, dueAt }, at) =>
        anAttempt({ number: at + 1, series, dueAt, startedAt: dueAt, durationMs: 10 }),
      ),
      lastNumber: attempts.length,
      series: { number: attempts.at(-1)?.series ?? 1, started: 1, ordered: null, keyName: null },
    });
    const ended = { submission: { ...submission, state }, upstreamTimes, finishedAt, callback };
    return drawn(aFinishedTask({ createdAt: NOW, credits: refunded, ...ended }), later());
  });
}

function drawn(record: CreatedTask, now: number): Timeline {
  const facts = taskFacts(record, "operator", POLICY);
  return timelineOf(facts, { credits: record.credits?.amount ?? null, released: 0 }, now);
}

/** Returns, for each drawing of a page, which of its texts overlap another text or a line to one, or leave the drawing. */
function overlaps(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const faults: string[] = [];
    for (const drawing of document.querySelectorAll("svg.timeline")) {
      const frame = drawing.getBoundingClientRect();
      const texts = [...drawing.querySelectorAll("text")].map((text) => ({
        name: text.textContent,
        box: text.getBoundingClientRect(),
      }));
      const poles = [...drawing.querySelectorAll(".mark path")];
      for (const [at, { name, box }] of texts.entries()) {
        const isMet = (other: DOMRect) =>
          box.left < other.right &&
          other.left < box.right &&
          box.top < other.bottom &&
          other.top < box.bottom;
        const others = texts.slice(at + 1).filter((other) => isMet(other.box));
        for (const other of others) faults.push(`${name} and ${other.name}`);
        const lines = poles.map((pole) => pole.getBoundingClientRect());
        if (lines.some((line) => isMet(new DOMRect(line.x - 0.5, line.y, 1, line.height))))
          faults.push(`${name} and a line`);
        const isWide = box.left < frame.left || box.right > frame.right;
        if (isWide || box.top < frame.top || box.bottom > frame.bottom)
          faults.push(`${name} and the edge`);
      }
    }
    return faults;
  });
}

it("in the timelines of generated lives of tasks, no label overlaps another label, a line to a label or the edge, at any size of the text", async () => {
  const timelines = [...(await simulatedTimelines()), ...crowdedTimelines()];
  const page = await openPage("http://localhost");
  const drawings = await Promise.all(
    timelines.map(
      async (timeline) => html`<div class="life">${TimelineDrawing({ timeline })}</div>`,
    ),
  );
  await page.setContent(`<!doctype html><style>${CSS}</style>${drawings.join("")}`);
  for (const width of WIDTHS) {
    await page.evaluate((px) => (document.body.style.width = `${px}px`), width);
    expect(await overlaps(page), `${width} pixels`).toEqual([]);
  }
});

it.each([
  ["simulated", simulatedTimelines, 0.95],
  ["crowded", async () => crowdedTimelines(), 0.8],
])(
  "the timelines of %s lives of tasks name every registration and result, and nearly all other events",
  async (_, timelinesOf, share) => {
    const timelines = await timelinesOf();
    const events = timelines.flatMap(({ marks }) => marks.map(({ name }) => name));
    const named = timelines.flatMap(({ names }) => names.map(({ name }) => name));
    for (const name of ["registered", "result"]) {
      const all = events.filter((each) => each === name);
      expect(named.filter((each) => each === name)).toEqual(all);
    }
    expect(named.length / events.length).toBeGreaterThanOrEqual(share);
  },
);

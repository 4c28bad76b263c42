import { html } from "hono/html";
import { expect, it } from "vitest";
import { TimelineDrawing } from "../../../src/console/parts/timeline.tsx";
import { timelineOf } from "../../../src/console/timeline.ts";
import { taskFacts } from "../../../src/core/views/task-facts.ts";
import { aFinishedTask, MINUTE, NOW, POLICY } from "../builders.ts";

it("the drawing of a task whose result came with its registration shows the label of the result inside the drawing, above the label of the registration", async () => {
  const facts = taskFacts(aFinishedTask(), "operator", POLICY);
  const timeline = timelineOf(facts, { credits: null }, NOW + MINUTE);
  const drawing = await html`${TimelineDrawing({ timeline })}`;
  const labels = drawing.matchAll(/<text x="(.+?)" y="(.+?)">(registered|result)</g);
  expect([...labels].map(([, x, y, name]) => [name, Number(x), Number(y)])).toEqual([
    ["registered", 0, 64],
    ["result", 0, 48],
  ]);
});

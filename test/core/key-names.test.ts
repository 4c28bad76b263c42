import { expect, it } from "vitest";
import { settledSummary } from "../../src/core/views/settled-summary.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  anEndAs,
  anOpenTask,
  aPolicy,
  aRedelivery,
  aRegistration,
  aReport,
  HOUR,
  NOW,
} from "./builders.ts";
import { apply, finish } from "./decisions.ts";
import { anAttachment, JOB } from "./upstream-builders.ts";

/** Returns the attempts in the text of a view, each with the key that ordered it; the planned one comes last. */
const namesIn = (text: string) => text.match(/"number":\d|"ordered_by":"\w+"/g)?.join(" ");

it("the summary of an ended task names the API keys that registered the task, attached its job and reported its result", () => {
  const registered = apply(null, aRegistration({ provider: "ark", keyName: "alice" }));
  const attached = apply(registered, { ...anAttachment(JOB), keyName: "bob" });
  const record = finish(attached, { ...aReport(), keyName: "0a1b2c3d" });
  const names = { registered_by: "alice", attached_by: "bob", reported_by: "0a1b2c3d" };
  expect(settledSummary(record, NOW)).toMatchObject(names);
});

it("the operator's view of a task names, at each attempt of a redelivery, the API key that ordered the redelivery; the account's view does not", () => {
  const automatic = finish(finish(anOpenTask(), aReport()), anEndAs(1, "delivered"));
  const order = aRedelivery({ attempts: 2, keyName: "alice" });
  const paused = finish(automatic, order, NOW, aPolicy({ pausedAt: NOW }));
  const waiting = finish(finish(automatic, order), anEndAs(2, "rejected"));
  const running = apply(waiting, { type: "attempt_started" }, NOW + HOUR);
  const ended = finish(running, anEndAs(3, "rejected"));
  const [own, name] = ['"number":1 "number":2', '"ordered_by":"alice"'];
  expect(namesIn(taskView(paused, "operator"))).toBe(`"number":1 ${name}`);
  expect(namesIn(taskView(paused, "account"))).toBe('"number":1');
  expect(namesIn(taskView(waiting, "operator"))).toBe(`${own} ${name} ${name}`);
  expect(namesIn(taskView(running, "operator"))).toBe(`${own} ${name} "number":3 ${name}`);
  expect(namesIn(taskView(running, "account"))).toBe(`${own} "number":3`);
  expect(namesIn(taskView(ended, "operator"))).toBe(`${own} ${name} "number":3 ${name}`);
});

import { expect, it } from "vitest";
import { settledSummary } from "../../src/core/views/settled-summary.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import { parseRecord } from "../../src/task-object/record-schema.ts";
import { anEndAs, anOpenTask, aRedelivery, aRegistration, aReport, NOW } from "./builders.ts";
import { apply, finish } from "./decisions.ts";
import { anAttachment, JOB } from "./upstream-builders.ts";

/** Lists the attempts that a view shows, each with the key that ordered it. */
const namesIn = (text: string) => text.match(/"number":\d|"ordered_by":"\w+"/g)?.join(" ");

it("the summary of a settled task names the keys that registered it, attached its job and reported its result", () => {
  const registered = apply(null, aRegistration({ provider: "ark", keyName: "alice" }));
  const attached = apply(registered, { ...anAttachment(JOB), keyName: "bob" });
  const record = finish(attached, { ...aReport(), keyName: "0a1b2c3d" });
  const names = { registered_by: "alice", attached_by: "bob", reported_by: "0a1b2c3d" };
  expect(settledSummary(record, NOW)).toMatchObject(names);
});

it("the record of a request is read without names of keys when it came from a Worker of an earlier release, which names none", () => {
  const record = apply(null, aRegistration());
  expect(parseRecord({ ...record, keyNames: {} })).toEqual(record);
});

it("a redelivery and its attempts carry the name of the key that ordered it, which only the operator sees", () => {
  const automatic = finish(finish(anOpenTask(), aReport()), anEndAs(1, "delivered"));
  const ordered = finish(automatic, aRedelivery({ attempts: 2, keyName: "alice" }));
  const waiting = finish(ordered, anEndAs(2, "rejected"));
  const running = apply(waiting, { type: "attempt_started" }, NOW + 3_600_000);
  const [own, name] = ['"number":1 "number":2', '"ordered_by":"alice"'];
  expect(namesIn(taskView(waiting, "operator"))).toBe(`${own} ${name}`);
  expect(namesIn(taskView(running, "operator"))).toBe(`${own} ${name} "number":3 ${name}`);
  expect(namesIn(taskView(running, "account"))).toBe(`${own} "number":3`);
});

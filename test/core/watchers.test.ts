import { expect, it } from "vitest";
import { Watchers } from "../../src/objects/task/watchers.ts";

/** Watchers of a task, with the sockets that are open and the states that were sent over them. */
function watched() {
  const sockets: { readonly send: (state: string) => void }[] = [];
  const told: string[] = [];
  const ctx: DurableObjectState = Object.create(null, { getWebSockets: { value: () => sockets } });
  const join = () => sockets.push({ send: (state) => told.push(state) });
  const leave = () => sockets.splice(0);
  return { watchers: new Watchers(ctx), told, join, leave };
}

it("a connection that watches a task is sent each state of the task once, even if the task's record is written several times with this state", () => {
  const { watchers, told, join } = watched();
  join();
  for (const state of ["1.40", "1.40", "1.50"]) watchers.tell(() => state);
  expect(told).toEqual(["1.40", "1.50"]);
});

it("while no connection watches a task, the state that would be sent to such connections is not computed", () => {
  const { watchers, told } = watched();
  watchers.tell(() => {
    throw new Error("the state was computed");
  });
  expect(told).toEqual([]);
});

it("a new connection that watches a task is sent the task's state even if an earlier connection, now closed, was already sent this state", () => {
  const { watchers, told, join, leave } = watched();
  join();
  watchers.tell(() => "1.40");
  leave();
  watchers.tell(() => "1.50");
  join();
  watchers.tell(() => "1.40");
  expect(told).toEqual(["1.40", "1.40"]);
});

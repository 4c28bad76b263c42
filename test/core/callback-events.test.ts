import { expect, it } from "vitest";
import {
  type CallbackEvents,
  eventsInOrder,
  statedEvents,
} from "../../src/core/record/callback-events.ts";

it.each<[CallbackEvents, CallbackEvents]>([
  [
    ["progress", "failed", "completed"],
    ["completed", "failed", "progress"],
  ],
  [
    ["progress", "completed"],
    ["completed", "progress"],
  ],
  [["failed"], ["failed"]],
])(
  "the events of which a receiver is told have a fixed order, however they are stated: %j becomes %j",
  (stated, stored) => {
    expect(eventsInOrder(stated)).toEqual(stored);
  },
);

it.each<[string, CallbackEvents | null, object]>([
  ["no events", null, {}],
  ["the events completed and failed, which are the default,", ["completed", "failed"], {}],
  [
    "another event besides",
    ["completed", "failed", "progress"],
    { callbackEvents: ["completed", "failed", "progress"] },
  ],
  ["only one event", ["completed"], { callbackEvents: ["completed"] }],
])(
  "a request that states %s registers the events of its callback only where they differ from the default",
  (_what, events, member) => {
    expect(statedEvents(events)).toEqual(member);
  },
);

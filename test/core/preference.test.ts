import { expect, it } from "vitest";
import { readPreference } from "../../src/api/submit/preference.ts";

/** Returns whether headers with these values of `Prefer` ask for an answer at once, and what is left of `Prefer`. */
function read(...values: readonly string[]) {
  const headers = new Headers(values.map((value) => ["Prefer", value]));
  const { isAsync, headers: rest } = readPreference(headers);
  return [isAsync, rest.get("Prefer")];
}

it.each<[readonly string[], string | null]>([
  [["respond-async"], null],
  [["Respond-Async"], null],
  [["respond-async, wait=60"], "wait=60"],
  [["wait=60,respond-async"], "wait=60"],
  [["wait=60", "respond-async"], "wait=60"],
  [["respond-async; a=b"], null],
  [['respond-async ; a="b, c", wait'], "wait"],
  [['respond-async=""'], null],
  [["respond-async, respond-async"], null],
  [["a, respond-async, b=1"], "a, b=1"],
  [[", ,respond-async,, "], null],
])("Prefer %j asks for an answer at once, and the upstream gets Prefer %j", (values, rest) => {
  expect(read(...values)).toEqual([true, rest]);
});

it.each<[readonly string[]]>([
  [[]],
  [["wait"]],
  [["respond-async=no"]],
  [["respond-asynchronous"]],
  [["x-respond-async"]],
  [['note="respond-async"']],
  [['note="a, respond-async"']],
  [['note="a\\", respond-async']],
])("Prefer %j does not ask for an answer at once, and the upstream gets it unchanged", (values) => {
  const headers = new Headers(values.map((value) => ["Prefer", value]));
  expect(readPreference(headers)).toEqual({ isAsync: false, headers });
  expect(readPreference(headers).headers).toBe(headers);
});

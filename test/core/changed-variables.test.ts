import { expect, it } from "vitest";
import { changedVariables } from "../../src/config/changed-variables.ts";

it("the changed variables are those with another value than their default, and not those that state the default", () => {
  const same = {
    CALLBACK_SCHEDULE_S: "0,180,600",
    RETENTION_DAYS: "28",
    PUBLIC_URL: "",
    PAUSED: "false",
    OPERATOR_EVENTS: "",
    PLAN: "paid",
  };
  expect(changedVariables({ ...same, UNKNOWN: "1" })).toEqual([]);
  const changed = {
    CALLBACK_SCHEDULE_S: "0,2",
    RETENTION_DAYS: "14",
    OPERATOR_EVENTS: "callback.failed",
    INDEX_DB: {},
    RELAY_SECRET: "0123456789abcdef0123456789abcdef",
  };
  expect(changedVariables(changed).toSorted()).toEqual(Object.keys(changed).toSorted());
});

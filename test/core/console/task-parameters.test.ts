import { expect, it } from "vitest";
import { taskParameters } from "../../../src/console/tasks/task-parameters.ts";

it("the console's list of tasks passes each filter that has a value to the API, also the class of a refusal", () => {
  const search = new URLSearchParams("status=failed&model=&refusal=key&host=+a.example");
  expect(Object.fromEntries(taskParameters(search, 0))).toEqual({
    status: "failed",
    refusal: "key",
    host: "a.example",
  });
});

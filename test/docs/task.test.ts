import { expect, it } from "vitest";
import API_PAGE from "../../docs/api.md?raw";
import SECRETS_PAGE from "../../docs/secrets.md?raw";
import { DEADLINE_EXTENSION, refundableMs } from "../../src/core/policy.ts";
import { OUTCOMES } from "../../src/core/record/outcome.ts";
import { DAY_MS, HOUR_MS } from "../../src/core/time.ts";
import { POLICY } from "../core/builders.ts";

/** Returns the codes in the first column of the rows that follow a line of docs/api.md, up to the next heading. */
function namesIn(heading: string): readonly string[] {
  const [, section = ""] = API_PAGE.split(`\n${heading}\n`);
  const [text = ""] = section.split(/\n##+ /);
  return [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = ""]) => name);
}

it("docs/api.md explains every outcome that a callback attempt can have, and no other", () => {
  expect(namesIn("| outcome | meaning |")).toEqual(OUTCOMES);
});

it("docs/secrets.md says for how long a task can be open, and so for how long an old RELAY_SECRET must stay configured", () => {
  const byDefault = (POLICY.taskDeadlineMs / HOUR_MS) * (1 + DEADLINE_EXTENSION);
  const longest = Math.floor(refundableMs(0) / DAY_MS);
  expect(SECRETS_PAGE).toContain(`${byDefault} hours with \`TASK_DEADLINE_HOURS=72\``);
  expect(SECRETS_PAGE).toContain(`at most ${longest} days`);
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as z from "zod";
import { Checkout } from "../readme/checkout.ts";

const Report = z.object({
  testResults: z.array(
    z.object({ assertionResults: z.array(z.object({ title: z.string(), status: z.string() })) }),
  ),
});

const SIGNED = ["test/providers/signatures/schemes.ts", "test/worker/senders.ts"] as const;
const PLACEHOLDERS =
  "no adapter, example, page or corpus still has a placeholder that npm run providers:new has written";
const MEANINGS = [
  "a success",
  "a success without output",
  "a failure by moderation",
  "a failure",
  "a job in progress",
  "an unknown state",
];

it("npm run check passes with the files of npm run providers:new --code; of the tests, only those fail that demand what the author still has to fill in", () => {
  using clone = new Checkout();
  clone.run(
    "npm run -s providers:new -- acme-video --code && npm run -s providers:new -- b --code --no-hooks",
  );
  clone.run("npm run -s check");
  const projects = "--project core --project smoke test/providers test/lint/new-provider";
  const reporter = "--reporter=json --outputFile=report.json";
  clone.run(`npx vitest run ${projects} ${reporter} > /dev/null 2>&1 || true`);
  const report = readFileSync(join(clone.directory, "report.json"), "utf8");
  const failed = Report.parse(JSON.parse(report)).testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map(({ title }) => title),
  );
  const titles = failed.map((title) => title.replace(/ \([^)]*\)/, ""));
  const expected = ["acme-video", "b"].flatMap((name) => [
    ...MEANINGS.map(
      (meaning) =>
        `an example answer of ${name} to a poll is read as this report on its job: ${meaning}`,
    ),
    `a report of ${name} that names the state of a job with an unknown word does not end the task, whatever else it contains`,
    `the documentation page of ${name} describes the provider before its only example of a call, whose path starts a job`,
    `the folder corpus of ${name}, a provider that the documentation lists, has at least eight real bodies of hooks or answers`,
    `the documentation page of ${name} links to the page of its corpus, which names the pages that the facts are from, and when they were read`,
  ]);
  const hooks = MEANINGS.map(
    (meaning) => `an example hook of acme-video is read as this report on its job: ${meaning}`,
  );
  expect(titles.toSorted()).toEqual([...expected, ...hooks, PLACEHOLDERS].toSorted());
});

it("npm run providers:new --code names the files to extend for signed hooks, and the compiler names them too once the adapter says that its hooks are signed", () => {
  using clone = new Checkout();
  const adapter = "src/providers/acme-video/acme-video.ts";
  const written = clone.run("npm run -s providers:new -- acme-video --code");
  for (const path of SIGNED) expect(written).toContain(path);
  clone.run(`sed -i 's/assurance: "capability-url"/assurance: "body-signed"/' ${adapter}`);
  const faults = clone.run("npx tsc -b tsconfig.json || true");
  const missing = faults
    .split("\n")
    .filter((line) => line.includes("'\"acme-video\"' is missing"))
    .map((line) => line.split("(")[0]);
  expect(missing).toEqual([SIGNED[0], SIGNED[1], SIGNED[1]]);
});

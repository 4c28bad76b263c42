import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import pMap from "p-map";
import type { Bug } from "../bug-list.ts";
import { bugsOf, PARTS } from "./bugs.ts";
import type { Finding } from "./messages.ts";
import { TestedCopy } from "./tested-copy.ts";

/**
 * Plants the bugs of the shell one after another, each in a copy of the tree, and runs the tests that must notice it.
 * `--part api` and `--only text` choose bugs.
 */
const { values } = parseArgs({
  options: {
    part: { type: "string", multiple: true, default: [...PARTS] },
    only: { type: "string", multiple: true, default: [""] },
  },
});

interface Planted {
  readonly part: string;
  readonly bug: Bug;
}

const planted: readonly Planted[] = PARTS.filter((part) => values.part.includes(part)).flatMap(
  (part) =>
    bugsOf(part)
      .filter(({ what }) => values.only.some((text) => what.includes(text)))
      .map((bug) => ({ part, bug })),
);
const noticed = new Map<string, number>();

await using copies = new AsyncDisposableStack();
const free = await pMap(Array.from({ length: availableParallelism() }), async () =>
  copies.use(await TestedCopy.open()),
);

async function run(bug: Bug | null, tests: readonly string[]): Promise<Finding> {
  const copy = free.pop();
  if (copy === undefined) throw new Error("more runs than copies");
  const finding = await copy.test({ bug, tests });
  free.push(copy);
  return finding;
}

/**
 * Returns the title of the test that notices a bug. Null when none does.
 * @throws when a test file does not run with the bug, so that it shows nothing.
 */
async function noticing(bug: Bug): Promise<string | null> {
  // One file after the other: a run that ends early must not meet a worker that is only starting.
  for (const test of bug.tests) {
    const { failed, errors } = await run(bug, [test]);
    if (failed !== null) return failed;
    if (errors.length > 0)
      throw new Error(`${bug.what}: ${test} does not run: ${errors.join("\n")}`);
  }
  return null;
}

/** @throws when a test fails without a bug: it would count as noticing every bug. */
async function requireControl(tests: readonly string[]): Promise<void> {
  const { failed, errors, passed } = await run(null, tests);
  if (failed !== null || errors.length > 0 || passed === 0) {
    throw new Error(`without a bug fails: ${failed ?? errors.join("\n")}`);
  }
}

const concurrency = free.length;
const tests = [...new Set(planted.flatMap(({ bug }) => bug.tests))].toSorted();
const halves = Array.from({ length: concurrency }, (_, half) =>
  tests.filter((_name, index) => index % concurrency === half),
).filter((half) => half.length > 0);
await pMap(halves, requireControl, { concurrency });
console.log(`the unchanged relay passes: ${tests.length} test files`);
// A bug that cannot be planted or tested must not hide what the others show.
await pMap(
  planted,
  async ({ part, bug }) => {
    const title = await noticing(bug);
    console.log(title === null ? `UNNOTICED  ${bug.what}` : `${bug.what}\n    ${title}`);
    if (title !== null) noticed.set(part, (noticed.get(part) ?? 0) + 1);
  },
  { concurrency, stopOnError: false },
);
for (const part of values.part) {
  const all = planted.filter((each) => each.part === part).length;
  console.log(`${part}: ${noticed.get(part) ?? 0} of ${all} planted bugs are noticed`);
}
const sum = [...noticed.values()].reduce((a, b) => a + b, 0);
console.log(`${sum} of ${planted.length} planted bugs are noticed`);
if (sum < planted.length) process.exitCode = 1;

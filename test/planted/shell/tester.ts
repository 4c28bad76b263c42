import { join } from "node:path";
import { createVitest, type TestCase, type TestModule } from "vitest/node";
import { plant, sourceOf } from "../bug-list.ts";
import type { Finding, Order } from "./messages.ts";

/**
 * Runs tests in the copy of the tree in which this file lies, as often as its parent process orders it. All runs share
 * one Vitest, which keeps what it has compiled of the unchanged files.
 */

/** Results of the tests that the present run has ended. */
let passed = 0;
let failed: string | null = null;
let errors: string[] = [];

const reporter = {
  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    if (state === "passed") passed += 1;
    if (state === "failed") failed ??= test.fullName;
  },
  onTestModuleEnd(module: TestModule): void {
    errors.push(...module.errors().map(({ message }) => message));
  },
};

const home = join(import.meta.dirname, "../../..");
const vitest = await createVitest("test", {
  root: home,
  watch: false,
  bail: 1,
  reporters: [reporter],
});

async function found(tests: readonly string[]): Promise<Finding> {
  [passed, failed, errors] = [0, null, []];
  const paths = tests.map((test) => join(home, "test", test));
  const specifications = await vitest.globTestSpecifications(paths);
  const named = specifications.filter(({ moduleId }) =>
    paths.some((path) => moduleId.startsWith(path)),
  );
  if (named.length < tests.length) throw new Error(`no such test files: ${tests.join(", ")}`);
  await vitest.runTestSpecifications(named);
  return { failed, passed, errors };
}

async function obey({ bug, tests }: Order): Promise<Finding> {
  if (bug === null) return found(tests);
  const changed = bug.changes.map(({ file }) => sourceOf(file, home));
  const forgetChanged = () => {
    for (const file of changed) vitest.invalidateFile(file);
  };
  const remove = await plant(bug, home);
  try {
    forgetChanged();
    return await found(tests);
  } finally {
    await remove();
    forgetChanged();
  }
}

/** Obeys an order. The finding of a bug that cannot be planted is the reason. */
async function answer(order: Order): Promise<Finding> {
  try {
    return await obey(order);
  } catch (error) {
    return { failed: null, passed: 0, errors: [String(error)] };
  }
}

process.on("message", (order: Order) => {
  void answer(order).then((finding) => process.send?.(finding));
});
process.send?.(null);

import { MinimalReporter, type TestModule, type TestSpecification } from "vitest/node";

/** Prints failures in full, but of what passes only one line per project. */
export class ProjectReporter extends MinimalReporter {
  readonly #waiting = new Map<string, number>();
  readonly #tests = new Map<string, number>();

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    for (const { project } of specifications) increase(this.#waiting, project.name, 1);
  }

  override onTestModuleEnd(testModule: TestModule): void {
    super.onTestModuleEnd(testModule);
    const { name } = testModule.project;
    const count = [...testModule.children.allTests()].length;
    if (increase(this.#waiting, name, -1) === 0) {
      this.log(`${name}: ${increase(this.#tests, name, count)} tests`);
    } else increase(this.#tests, name, count);
  }
}

/** @returns the new value. */
function increase(counts: Map<string, number>, name: string, by: number): number {
  const value = (counts.get(name) ?? 0) + by;
  counts.set(name, value);
  return value;
}

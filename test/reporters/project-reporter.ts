import {
  MinimalReporter,
  type TestModule,
  type TestRunEndReason,
  type TestSpecification,
  type Vitest,
} from "vitest/node";

/**
 * Pattern of messages that workerd prints past Vitest, most of them with a stack: a test makes the relay fail on purpose,
 * or one end of a connection closes.
 */
const RUNTIME_MESSAGE = /^(?:(?:uncaught )?exception\b|e = |A header value for )/;

/**
 * Reporter that prints failures in full, the reasons of skipped tests, and only one line per project for tests
 * that pass.
 */
export class ProjectReporter extends MinimalReporter {
  readonly #waiting = new Map<string, number>();
  readonly #tests = new Map<string, number>();
  /** Messages that are held back until the end; null once messages are printed as they arrive. */
  #runtimeMessages: string[] | null = [];

  override onInit(vitest: Vitest): void {
    super.onInit(vitest);
    for (const stream of [process.stdout, process.stderr]) {
      const write = stream.write.bind(stream);
      stream.write = new Proxy(write, {
        apply: (target, self, args: unknown[]) => {
          const text = String(args[0]);
          const isHeldBack = this.#runtimeMessages !== null && RUNTIME_MESSAGE.test(text);
          if (!isHeldBack) return Reflect.apply(target, self, args);
          this.#runtimeMessages?.push(text);
          return true;
        },
      });
    }
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    for (const { project } of specifications) increase(this.#waiting, project.name, 1);
  }

  override onTestRunEnd(
    testModules: readonly TestModule[],
    errors: Parameters<MinimalReporter["onTestRunEnd"]>[1],
    reason: TestRunEndReason,
  ): void {
    const messages = this.#runtimeMessages ?? [];
    this.#runtimeMessages = null;
    // Before the failures, which are what one looks for at the end of the output.
    if (reason === "failed") for (const message of messages) this.log(message);
    super.onTestRunEnd(testModules, errors, reason);
  }

  override onTestModuleEnd(testModule: TestModule): void {
    super.onTestModuleEnd(testModule);
    const { name } = testModule.project;
    for (const test of testModule.children.allTests("skipped")) {
      const result = test.result();
      const note = result.state === "skipped" ? result.note : undefined;
      if (note !== undefined) this.log(`${name}: skipped, because ${note}: ${test.fullName}`);
    }
    const count = [...testModule.children.allTests()].length;
    if (increase(this.#waiting, name, -1) === 0) {
      this.log(`${name}: ${increase(this.#tests, name, count)} tests`);
    } else increase(this.#tests, name, count);
  }
}

/** Adds one to the count of a key. @returns the new count. */
function increase(counts: Map<string, number>, name: string, by: number): number {
  const value = (counts.get(name) ?? 0) + by;
  counts.set(name, value);
  return value;
}

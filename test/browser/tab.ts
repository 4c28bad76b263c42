import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { launchChromium } from "./chromium.ts";

export interface TabOptions {
  /** Settings of the browser: `viewport`, `colorScheme`, `reducedMotion`, `javaScriptEnabled` and others. */
  readonly context?: BrowserContextOptions;
  /** Further origins to which the page may send requests, e.g. that of a chat with a link to the relay. */
  readonly origins?: readonly string[];
  /** Errors that the test causes on purpose, e.g. that of a page with status 404. */
  readonly expected?: readonly RegExp[];
}

let browser: Promise<Browser> | null = null;

/** Starts the browser at the first call; it ends with this process. */
function theBrowser(): Promise<Browser> {
  browser ??= launchChromium();
  return browser;
}

/** Ends the browser of this process; without this, a script would not end. */
export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = null;
}

/**
 * A page in a browser profile of its own. Records console errors, uncaught exceptions, violations of the
 * Content-Security-Policy and requests to other origins.
 */
export class Tab implements AsyncDisposable {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #troubles: string[] = [];
  readonly #expected: readonly RegExp[];

  private constructor(page: Page, origin: string, { origins = [], expected = [] }: TabOptions) {
    this.page = page;
    this.#context = page.context();
    this.#expected = expected;
    this.#record(new Set([origin, ...origins]));
  }

  /** @param origin of the relay, where the paths of `page.goto` begin. */
  static async open(origin: string, options: TabOptions = {}): Promise<Tab> {
    const context = await (
      await theBrowser()
    ).newContext({ baseURL: origin, reducedMotion: "reduce", ...options.context });
    const tab = new Tab(await context.newPage(), origin, options);
    await context.exposeBinding("recordViolation", (_, violation: string) => {
      tab.#troubles.push(`violates the Content-Security-Policy: ${violation}`);
    });
    await context.addInitScript(reportViolations);
    return tab;
  }

  /** Recorded errors and requests that were not expected. */
  get troubles(): readonly string[] {
    return this.#troubles.filter((text) => !this.#expected.some((pattern) => pattern.test(text)));
  }

  /** Closes the page. @throws when something was recorded that was not expected. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
    if (this.troubles.length > 0) throw new Error(`the page has\n${this.troubles.join("\n")}`);
  }

  #record(origins: ReadonlySet<string>): void {
    this.#context.on("console", (message) => {
      if (message.type() !== "error") return;
      this.#troubles.push(`console error: ${message.text()} (${message.location().url})`);
    });
    this.#context.on("weberror", (each) => {
      this.#troubles.push(`uncaught: ${String(each.error())}`);
    });
    this.#context.on("request", (request) => {
      const url = new URL(request.url());
      const isRemote = url.protocol !== "data:" && url.protocol !== "blob:";
      if (isRemote && !origins.has(url.origin)) {
        this.#troubles.push(`off-origin request: ${request.method()} ${request.url()}`);
      }
    });
    this.page.on("crash", () => this.#troubles.push("crashed"));
  }
}

/**
 * Script that runs in every page before its own scripts, and reports violations of the
 * Content-Security-Policy.
 */
function reportViolations(): void {
  document.addEventListener("securitypolicyviolation", (event) => {
    const record: unknown = Reflect.get(globalThis, "recordViolation");
    const where = `${event.sourceFile}:${event.lineNumber} ${event.sample}`;
    if (typeof record === "function") {
      record(`${event.effectiveDirective} ${event.blockedURI} ${where}`);
    }
  });
}

import type { Page, Request } from "playwright-core";

/** Makes an open page believe that its tab is hidden or visible again. */
export async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

/** The refreshes of a page of the console. */
export class Refreshes {
  /** Number of refreshes that the page has sent. */
  sent = 0;
  /** Number of refreshes that the page has broken off. */
  brokenOff = 0;
  readonly #open = new Set<Request>();

  constructor(page: Page) {
    page.on("request", (request) => {
      if (request.headers()["x-refresh"] === undefined) return;
      this.sent += 1;
      this.#open.add(request);
    });
    page.on("requestfinished", (request) => this.#open.delete(request));
    page.on("requestfailed", (request) => {
      if (this.#open.delete(request)) this.brokenOff += 1;
    });
  }

  /** Number of refreshes that the relay has not answered yet. */
  get open(): number {
    return this.#open.size;
  }
}

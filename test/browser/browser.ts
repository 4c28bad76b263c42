import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { Tab, type TabOptions } from "./tab.ts";

/**
 * Opens an empty page for the running test, which fails at its end when the page had a console error, an
 * uncaught exception, a violation of the Content-Security-Policy or an off-origin request.
 */
export async function openPage(origin: string, options: TabOptions = {}): Promise<Page> {
  const tab = await Tab.open(origin, options);
  onTestFinished(() => tab[Symbol.asyncDispose]());
  return tab.page;
}

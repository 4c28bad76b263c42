import type { Page } from "playwright-core";

export interface ScreenshotPage {
  /** Name of the file, without the look and the ending. */
  readonly name: string;
  readonly path: string;
  /** Brings the opened page into the state that is shown. */
  readonly prepare?: (page: Page) => Promise<void>;
}

/** The pages that `npm run screenshots` takes, in the order of their navigation. */
export const PAGES: readonly ScreenshotPage[] = [
  { name: "login", path: "/login?return_to=/tasks?callback=failed" },
  {
    name: "login-wrong-key",
    path: "/login",
    prepare: async (page) => {
      await page.getByLabel("Operator key or account key").fill("a-wrong-key-0123456789");
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByRole("alert").waitFor();
    },
  },
  { name: "not-found", path: "/nowhere" },
  { name: "docs", path: "/docs" },
  { name: "docs-errors", path: "/docs/errors" },
];

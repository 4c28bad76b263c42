import type { Page } from "playwright-core";
import { OPERATOR_KEY } from "../process/harness/client.ts";

/** Logs in with a key, by default the operator's, and opens a page. */
export async function logIn(page: Page, path = "/", key = OPERATOR_KEY): Promise<void> {
  await page.goto(`/login?return_to=${encodeURIComponent(path)}`);
  await page.getByLabel("Operator key or account key").fill(key);
  await page.getByLabel("Operator key or account key").press("Enter");
  await page.waitForURL(new URL(path, page.url()).href);
}

import type { Page } from "playwright-core";
import { ACCOUNT } from "../../../scripts/demo/seed.ts";

/** Ids and hosts of the relay that pages of the screenshots show. */
export interface Shown {
  /** Id of a task whose callback failed. */
  readonly failedTask: string;
  /** Host and port of a receiver that is down. */
  readonly downHost: string;
  /** Status links of a task without a result, and of one whose result is a picture. */
  readonly statusLinks: { readonly open: string; readonly picture: string };
}

export interface ScreenshotPage {
  /** Name of the file, without the colour scheme and the extension. */
  readonly name: string;
  readonly path: string;
  /** False for a page that is shown before the login. */
  readonly isLoggedIn: boolean;
  /** Brings the opened page into the state in which the picture is taken. */
  readonly prepare?: (page: Page) => Promise<void>;
}

/** Lists the pages of which `npm run screenshots` takes pictures, in the order of their navigation. */
export function pagesOf({ failedTask, downHost, statusLinks }: Shown): readonly ScreenshotPage[] {
  const own = { isLoggedIn: true };
  const open = { isLoggedIn: false };
  return [
    { name: "login", path: "/login?return_to=/tasks?callback=failed", ...open },
    { name: "login-wrong-key", path: "/login", ...open, prepare: tryWrongKey },
    { name: "docs", path: "/docs", ...open },
    { name: "docs-errors", path: "/docs/errors", ...open },
    { name: "status-open", path: statusLinks.open, ...open },
    { name: "status-picture", path: statusLinks.picture, ...open },
    { name: "status-refused", path: `${statusLinks.open}x`, ...open },
    { name: "overview", path: "/", ...own },
    { name: "tasks", path: "/tasks", ...own },
    { name: "tasks-failed", path: "/tasks?callback=failed", ...own },
    { name: "redeliver", path: "/tasks?callback=failed", ...own, prepare: openRedelivery },
    { name: "task", path: `/tasks/${failedTask}`, ...own },
    { name: "hosts", path: "/hosts", ...own },
    { name: "host", path: `/hosts/${downHost}`, ...own },
    { name: "accounts", path: "/accounts", ...own },
    { name: "account", path: `/accounts/${ACCOUNT}`, ...own },
    { name: "endpoint", path: `/accounts/${ACCOUNT}/endpoints/orders`, ...own },
    { name: "endpoint-new", path: `/accounts/${ACCOUNT}/endpoints/_new`, ...own },
    { name: "endpoints", path: "/endpoints", ...own },
    { name: "offers", path: "/offers", ...own, prepare: offerSandbox },
    { name: "offer-new", path: "/offers/_new", ...own },
    { name: "offer", path: "/offers/sandbox-video", ...own, prepare: tryOffer },
    { name: "submit", path: "/submit", ...own, prepare: offerSandbox },
    { name: "playground", path: "/submit/sandbox-video", ...own, prepare: submitJob },
    { name: "providers", path: "/providers", ...own },
    { name: "send-test", path: "/test", ...own },
    { name: "not-found", path: "/nowhere", ...own },
  ];
}

async function openRedelivery(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Send all that match" }).click();
  await page.getByRole("dialog", { name: "Send callbacks again" }).waitFor();
}

async function tryWrongKey(page: Page): Promise<void> {
  await page.getByLabel("Operator key or account key").fill("a-wrong-key-0123456789");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
}

/** Offers the sandbox, unless it is offered, and opens the page again. */
async function offerSandbox(page: Page): Promise<void> {
  const path = page.url();
  await page.goto("/submit");
  const button = page.getByRole("button", { name: "Offer the sandbox" });
  if (await button.isVisible()) {
    await button.click();
    await page.getByRole("link", { name: "Video of the sandbox" }).waitFor();
  }
  await page.goto(path);
}

async function tryOffer(page: Page): Promise<void> {
  await offerSandbox(page);
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.locator("#trial").waitFor();
}

async function submitJob(page: Page): Promise<void> {
  await offerSandbox(page);
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.getByText("completed").waitFor();
}

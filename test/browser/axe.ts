import axe from "axe-core";
import type { Page } from "playwright-core";
import * as z from "zod";

const Violations = z.array(
  z.object({ id: z.string(), nodes: z.array(z.object({ target: z.array(z.unknown()) })) }),
);

/** Returns the violations that axe-core finds on a page: each rule with the elements that violate it. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate("axe.run().then(({ violations }) => violations)");
  return Violations.parse(found).map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`,
  );
}

/** Tells whether a page is wider than the screen, so that readers must scroll sideways. */
export async function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
}

import { expect, it } from "vitest";
import { samplePage } from "./sample-page.tsx";

it("a console page with all components of the console and with texts that contain HTML has no inline script, style or event handler", async () => {
  const page = await samplePage(null);
  const tags = page.replaceAll(/(?<!src)="[^"]*"/g, "=");
  expect(/<style|<[^>]* style=|<\w[^<>]* on\w+=|<script(?! src="\/assets)/.exec(tags)).toBeNull();
  expect(page).toContain('<html lang="en" data-theme="dark">');
  expect(page.match(/<span class="hidden">U\+202E<\/span>/g)).toHaveLength(15);
});

it.each([
  [
    "the operator",
    ["/", "/tasks", "/hosts", "/accounts", "/offers", "/providers", "/submit", "/test", "/docs"],
    null,
  ],
  ["the account acme", ["/", "/tasks", "/submit", "/accounts/acme", "/test", "/docs"], "acme"],
])(
  "the navigation of the console for %s links to %j and marks the entry of the current page",
  async (_, paths, account) => {
    const [rail = ""] = /<nav class="rail"[\s\S]*?<\/nav>/.exec(await samplePage(account)) ?? [];
    const links = Array.from(rail.matchAll(/<a (?!class)[^>]*href="([^"]*)"([^>]*)>/g));
    expect(links.map(([, path]) => path)).toEqual(paths);
    const current = links.filter(([, , rest]) => rest?.includes("aria-current"));
    expect(current.map(([, path]) => path)).toEqual(["/tasks"]);
  },
);

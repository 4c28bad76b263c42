import type { HtmlEscapedString } from "hono/utils/html";
import openapi from "../../openapi.json" with { type: "json" };
import { ICON } from "../../src/console/layout/brand.tsx";
import { ErrorsPage } from "./errors.tsx";
import { ReferencePage } from "./reference.tsx";

/** Renders the documentation pages and the icon, by the names of their files in `public`. */
export async function rendered(): Promise<Readonly<Record<string, string>>> {
  return {
    "docs.html": await textOf(<ReferencePage document={openapi} />),
    "docs/errors.html": await textOf(<ErrorsPage />),
    "assets/icon.svg": ICON,
  };
}

async function textOf(page: HtmlEscapedString | Promise<HtmlEscapedString>): Promise<string> {
  return `<!doctype html>${(await page).toString()}`;
}

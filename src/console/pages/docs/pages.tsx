import { raw } from "hono/html";
import openapi from "../../../../openapi.json" with { type: "json" };
import { linkOrigin } from "../../../api/http/link-origin.ts";
import { html } from "../../html-answer.ts";
import { publicPage } from "../../page.ts";
import { type Theme, themeOf } from "../../parts/layout.tsx";
import { ErrorsPage } from "./errors.tsx";
import { ReferencePage } from "./reference.tsx";

/** Serves the reference of the API, made from openapi.json. */
export const referencePage = publicPage("/docs", async ({ request, env }) =>
  html(raw(await referenceText(linkOrigin(env, request), themeOf(request)))),
);

/** Serves the page `/docs/errors`, to which the `type` of every error answer (problem) links. */
export const errorsPage = publicPage("/docs/errors", ({ request }) =>
  html(<ErrorsPage theme={themeOf(request)} />),
);

/** Placeholder for the origin (scheme and host) of the relay in the stored HTML of the API reference. */
const ORIGIN = "https://origin.invalid";

/**
 * HTML of the API reference, made at the first request and then kept in memory, because making it takes a
 * hundred times as long as sending it; null before.
 */
let made: string | null = null;

async function referenceText(origin: string, theme: Theme): Promise<string> {
  made ??= await referencePageText();
  const text = made.replaceAll(ORIGIN, () => origin);
  return theme === null ? text : text.replace("<html ", `<html data-theme="${theme}" `);
}

async function referencePageText(): Promise<string> {
  const page = <ReferencePage document={openapi} origin={ORIGIN} theme={null} />;
  return (await page).toString();
}

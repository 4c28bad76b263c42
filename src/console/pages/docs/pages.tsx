import { raw } from "hono/html";
import { linkOrigin } from "../../../api/http/link-origin.ts";
import { html } from "../../answer.ts";
import type { ApiDocument } from "../../docs/document.ts";
import { publicPage } from "../../page.ts";
import { type Theme, themeOf } from "../../parts/layout.tsx";
import { ErrorsPage } from "./errors.tsx";
import { ReferencePage } from "./reference.tsx";

/** Serves the reference of the API, made from openapi.json, which is loaded when it is first asked for. */
export const referencePage = publicPage("/docs", async ({ request, env }) =>
  html(raw(await referenceText(linkOrigin(env, request), themeOf(request)))),
);

/** Serves the page `/docs/errors`, to which the `type` of every problem links. */
export const errorsPage = publicPage("/docs/errors", ({ request }) =>
  html(<ErrorsPage theme={themeOf(request)} />),
);

/**
 * The HTML of the reference as it was last rendered, because rendering takes a hundred times as long as
 * sending it.
 */
let latest: { readonly origin: string; readonly theme: Theme; readonly text: string } | null = null;

async function referenceText(origin: string, theme: Theme): Promise<string> {
  if (latest?.origin === origin && latest.theme === theme) return latest.text;
  const document = await loadDocument();
  const page = <ReferencePage document={document} origin={origin} theme={theme} />;
  latest = { origin, theme, text: (await page).toString() };
  return latest.text;
}

async function loadDocument(): Promise<ApiDocument> {
  const loaded = await import("../../../../openapi.json", { with: { type: "json" } });
  return loaded.default;
}

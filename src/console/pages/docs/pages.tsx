import { raw } from "hono/html";
import { linkOrigin } from "../../../api/http/link-origin.ts";
import errors from "../../docs/errors.htm" with { type: "text" };
import reference from "../../docs/reference.htm" with { type: "text" };
import { html } from "../../http/html-answer.ts";
import { publicPage } from "../../http/page.ts";
import { Document, themeOf } from "../../layout/layout.tsx";
import { ORIGIN } from "./origin.ts";

/** Serves the reference of the API, made from openapi.json. */
export const referencePage = publicPage("referencePage", "/docs", ({ request, env }) => {
  const origin = linkOrigin(env, request);
  return html(
    <Document title="API reference" theme={themeOf(request)}>
      {raw(reference.replaceAll(ORIGIN, () => origin))}
    </Document>,
  );
});

/** Serves the page `/docs/errors`, to which the `type` of every error answer (problem) links. */
export const errorsPage = publicPage("errorsPage", "/docs/errors", ({ request }) =>
  html(
    <Document title="Problem codes" theme={themeOf(request)}>
      {raw(errors)}
    </Document>,
  ),
);

import { html, raw } from "hono/html";
import { sha256, toBase64 } from "../../security/encoding.ts";
import { EXPLAINED_PROBLEMS } from "../http/problem-help.ts";
import { publicRoute } from "../http/route.ts";

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8dbe0, #3a3f47); --soft: light-dark(#5b6270, #a3abb8); --mark: light-dark(#fff6d6, #3a3420); }
* { box-sizing: border-box; }
body { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; }
h2 { margin: 0; font-size: 1.1rem; overflow-wrap: anywhere; }
h2 a { color: inherit; text-decoration: none; }
h2 a:hover { text-decoration: underline; }
code { font-family: ui-monospace, monospace; font-size: 0.95em; }
nav ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 0.15rem 1rem; padding: 0; list-style: none; }
section { padding: 1rem 0.75rem; border-top: 1px solid var(--line); scroll-margin-top: 1rem; }
section:target { background: var(--mark); }
.status { color: var(--soft); font-variant-numeric: tabular-nums; }
section p { margin: 0.2rem 0 0.6rem; }
dl { margin: 0; }
dt { font-weight: 600; }
dd { margin: 0 0 0.5rem; }
`;

/**
 * Serves the page `/docs/errors`, to which the `type` of every problem links, also while the relay is not
 * configured.
 */
export const readErrorsPage = publicRoute(
  {
    id: "readErrorsPage",
    method: "GET",
    path: "/docs/errors",
  },
  async () =>
    new Response(await page(), {
      headers: {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": await contentSecurityPolicy(),
      },
    }),
);

/**
 * Builds the Content-Security-Policy of the page `/docs/errors`: it allows only the page's one inline style,
 * by its hash.
 */
async function contentSecurityPolicy(): Promise<string> {
  const hash = toBase64(await sha256(STYLE));
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

async function page(): Promise<string> {
  const document = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Problem codes · Task Relay</title>
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <h1>Problem codes</h1>
        <p>
          A refused request is answered with <code>application/problem+json</code> (RFC 9457). Its
          member <code>code</code> is one of the following, <code>type</code> links to the entry on
          this page, and <code>detail</code> describes the single case.
        </p>
        <nav aria-label="Codes">
          <ul>
            ${EXPLAINED_PROBLEMS.map(
              ({ code, status }) =>
                html`<li>
                  <span class="status">${status}</span> <a href="#${code}"><code>${code}</code></a>
                </li>`,
            )}
          </ul>
        </nav>
        <main>${EXPLAINED_PROBLEMS.map(section)}</main>
      </body>
    </html>`;
  return document.toString();
}

function section({ code, status, title, cause, cure }: (typeof EXPLAINED_PROBLEMS)[number]) {
  return html`<section id="${code}">
    <h2>
      <a href="#${code}"><code>${code}</code></a>
    </h2>
    <p><span class="status">${status}</span> ${title}</p>
    <dl>
      <dt>Cause</dt>
      <dd>${cause}</dd>
      <dt>Cure</dt>
      <dd>${cure}</dd>
    </dl>
  </section>`;
}

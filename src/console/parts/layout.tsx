import type { PropsWithChildren } from "hono/jsx";
import { ASSETS } from "../assets.ts";

/** The frame of every page. */
export function Layout({ title, children }: PropsWithChildren<{ readonly title: string }>) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title} · Task Relay</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={ASSETS.stylesheet.path} />
        <script src={ASSETS.idiomorph.path} defer />
        <script src={ASSETS.script.path} type="module" />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <main id="main">{children}</main>
      </body>
    </html>
  );
}

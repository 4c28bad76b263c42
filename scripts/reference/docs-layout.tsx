import type { PropsWithChildren } from "hono/jsx";
import { Brand } from "../../src/console/layout/brand.tsx";
import { Icon } from "../../src/console/parts/icon.tsx";
import { Document } from "../../src/console/layout/layout.tsx";
import { ThemeButton } from "../../src/console/layout/topbar.tsx";
import { EXAMPLE_ORIGIN } from "./origin.ts";

/** An entry of the table of contents; `id` is the id of the section to which it leads. */
export interface ContentsEntry {
  readonly id: string;
  readonly title: string;
  /** Content before the title: the method of a route, or the HTTP status of an error. */
  readonly badge?: string;
}

/** A part of the table of contents, with its entries. */
export interface Chapter {
  readonly title: string;
  readonly entries: readonly ContentsEntry[];
}

const PAGES = [
  ["/docs", "Reference"],
  ["/docs/errors", "Problem codes"],
  ["/openapi.json", "OpenAPI"],
] as const;

/** Scripts of the documentation pages besides those of every page. */
const SCRIPTS = (
  <>
    <script src="/assets/theme.js" />
    <script src="/assets/reference.js" type="module" />
  </>
);

interface DocsLayoutProps {
  readonly title: string;
  readonly path: string;
  readonly chapters: readonly Chapter[];
  /** Label of the field in which readers type words to filter the page. */
  readonly filter: string;
}

/** A documentation page, which can be read without a login. */
export function DocsLayout(props: PropsWithChildren<DocsLayoutProps>) {
  const { title, path, chapters, filter, children } = props;
  return (
    <Document title={title} theme={null} head={SCRIPTS}>
      <div class="docs">
        <header class="topbar">
          <Brand />
          <nav class="docs-pages" aria-label="Documentation">
            {PAGES.map(([href, name]) => (
              <a href={href} aria-current={href === path ? "page" : undefined}>
                {name}
              </a>
            ))}
          </nav>
          <div class="topbar-end">
            <ThemeButton />
          </div>
        </header>
        <div class="docs-side">
          <search class="search needs-script">
            <Icon name="search" />
            <input
              type="search"
              aria-label={filter}
              placeholder={filter}
              data-filter=""
              data-key="/"
            />
            <kbd aria-hidden="true">/</kbd>
          </search>
          <Contents chapters={chapters} />
        </div>
        <main id="main" class="main docs-main" tabindex={-1} data-origin={EXAMPLE_ORIGIN}>
          {children}
          <p class="muted" data-filter-none="" hidden>
            Nothing on this page has all these words.
          </p>
        </main>
      </div>
      <output id="said" class="visually-hidden" />
    </Document>
  );
}

function Contents({ chapters }: { readonly chapters: readonly Chapter[] }) {
  return (
    <nav class="contents" aria-label="On this page">
      {chapters.map(({ title, entries }) => (
        <section data-filter-group="">
          <h2>{title}</h2>
          <ul>
            {entries.map(({ id, title: name, badge }) => (
              <li>
                <a href={`#${id}`}>
                  {badge === undefined ? null : <span class={`badge badge-${badge}`}>{badge}</span>}
                  <span>{name}</span>
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

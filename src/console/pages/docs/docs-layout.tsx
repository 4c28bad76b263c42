import type { PropsWithChildren } from "hono/jsx";
import { Brand } from "../../layout/brand.tsx";
import { Icon } from "../../parts/icon.tsx";
import { ThemeButton } from "../../layout/topbar.tsx";

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

interface DocsLayoutProps {
  readonly path: string;
  readonly chapters: readonly Chapter[];
  /** Label of the field in which readers type words to filter the page. */
  readonly filter: string;
}

/** The body of the documentation pages, which can be read without a login. */
export function DocsLayout(props: PropsWithChildren<DocsLayoutProps>) {
  const { path, chapters, filter, children } = props;
  return (
    <>
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
        <main id="main" class="main docs-main" tabindex={-1}>
          {children}
          <p class="muted" data-filter-none="" hidden>
            Nothing on this page has all these words.
          </p>
        </main>
      </div>
      <output id="said" class="visually-hidden" />
    </>
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

import type { Child, PropsWithChildren } from "hono/jsx";

interface PageHeadProps {
  readonly title: Child;
  /** Line with more about the page, below the title. */
  readonly sub?: Child;
}

/** The title of a page. Its children are the buttons next to the title. */
export function PageHead({ title, sub, children }: PropsWithChildren<PageHeadProps>) {
  return (
    <div class="page-head">
      <div>
        <h1>{title}</h1>
        {sub === undefined ? null : <p>{sub}</p>}
      </div>
      <div class="buttons">{children}</div>
    </div>
  );
}

interface PanelProps {
  /** Id of the section, for links to it. */
  readonly id?: string;
  readonly title: string;
  /** Content at the right of the title, e.g. a count, a time range or a link. */
  readonly aside?: Child;
}

/** A section of a page with a heading. */
export function Panel({ id, title, aside, children }: PropsWithChildren<PanelProps>) {
  return (
    <section class="panel" id={id}>
      <div class="panel-head">
        <h2>{title}</h2>
        {aside === undefined ? null : <div class="aside">{aside}</div>}
      </div>
      {children}
    </section>
  );
}

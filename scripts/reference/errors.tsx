import { EXPLAINED_PROBLEMS } from "../../src/api/http/problem-help.ts";
import { DocsLayout } from "./docs-layout.tsx";

/**
 * The page `/docs/errors`, to which the `type` of every error answer (problem) links. It has the cause
 * and cure of each error code.
 */
export function ErrorsPage() {
  const byStatus = Map.groupBy(EXPLAINED_PROBLEMS, ({ status }) =>
    KINDS.find(([from]) => status >= from),
  );
  const chapters = Array.from(byStatus, ([kind, found]) => ({
    title: kind?.[1] ?? "",
    entries: found.map(({ code, status }) => ({ id: code, title: code, badge: String(status) })),
  }));
  return (
    <DocsLayout
      title="Problem codes"
      path="/docs/errors"
      filter="Filter the codes"
      chapters={chapters}
    >
      <h1>Problem codes</h1>
      <p class="lead">
        A refused request is answered with <code>application/problem+json</code> (RFC 9457) and has
        changed nothing. Its member <code>code</code> is one of the following, <code>type</code>{" "}
        links to the entry on this page, and <code>detail</code> describes the single case.
      </p>
      {EXPLAINED_PROBLEMS.map(({ code, ...problem }) => (
        <section class="topic problem" id={code} data-entry="">
          <h2>
            <a href={`#${code}`}>
              <code>{code}</code>
            </a>
          </h2>
          <p class="muted">
            {problem.status} · {problem.title}
          </p>
          <dl class="fields">
            <dt>Cause</dt>
            <dd>{problem.cause}</dd>
            <dt>Cure</dt>
            <dd>{problem.cure}</dd>
          </dl>
        </section>
      ))}
    </DocsLayout>
  );
}

const KINDS = [
  [500, "The relay"],
  [400, "The request"],
] as const;

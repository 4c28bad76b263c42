import type { Child } from "hono/jsx";
import { WITH_KEY } from "../../src/lib/curl.ts";
import { Code } from "../../src/console/parts/code.tsx";
import type { ContentsEntry } from "./docs-layout.tsx";
import { EXAMPLE_ORIGIN } from "./origin.ts";

interface Topic extends ContentsEntry {
  readonly text: Child;
}

/** Topics of the chapter on rules that apply to all operations. */
const TOPICS: readonly Topic[] = [
  {
    id: "requests",
    title: "Requests",
    text: (
      <>
        <p>
          All paths begin with <code>{EXAMPLE_ORIGIN}</code>. Bodies are JSON in UTF-8 with names in
          snake_case. Times are whole Unix seconds (<code>…_at</code>), durations are milliseconds (
          <code>…_ms</code>). Unknown members and parameters are refused, and a refused request
          changes nothing. Every answer of a route has an <code>X-Request-Id</code>, which the log
          of the relay repeats.
        </p>
      </>
    ),
  },
  {
    id: "authentication",
    title: "Authentication",
    text: (
      <>
        <p>
          Send an operator key or the API key of an account. An account key reads, redelivers, tests
          and submits within its own account; the task of another account and an unknown id get the
          same 404. Each operation below says whom it is permitted to.
        </p>
        <Code
          what="a request with a key"
          text={`export KEY=…\ncurl -fsS ${EXAMPLE_ORIGIN}/v1/tasks ${WITH_KEY}`}
        />
      </>
    ),
  },
  {
    id: "problems",
    title: "Problems",
    text: (
      <p>
        A refused request is answered with <code>application/problem+json</code> (RFC 9457).{" "}
        <code>code</code> does not change and has its cause and cure on the page{" "}
        <a href="/docs/errors">Problem codes</a>, to which <code>type</code> links;{" "}
        <code>detail</code> describes the single case; <code>issues</code> names each fault of the
        input.
      </p>
    ),
  },
  {
    id: "idempotency",
    title: "Repeating requests",
    text: (
      <p>
        Registrations, redeliveries and reports are safe to repeat. Under an{" "}
        <code>Idempotency-Key</code> the first body counts: the same request again gets the same
        task and <code>Idempotent-Replayed: true</code>, another body gets 422. The same event again
        is harmless; a different result gets 409, because the first result is final.
      </p>
    ),
  },
  {
    id: "pages",
    title: "Lists",
    text: (
      <p>
        Lists are newest first, in pages of <code>limit</code> entries. Ask for the next page with
        the <code>next_cursor</code> of the answer as <code>cursor</code>; it is null on the last
        page. A page may be short.
      </p>
    ),
  },
];

/** Entries of the chapter on rules that apply to all operations, for the table of contents. */
export const BASICS: readonly ContentsEntry[] = TOPICS;

/** The chapter on rules that apply to all operations. */
export function Basics() {
  return (
    <>
      {TOPICS.map(({ id, title, text }) => (
        <section class="topic" id={id} data-entry="">
          <h3>
            <a href={`#${id}`}>{title}</a>
          </h3>
          {text}
        </section>
      ))}
    </>
  );
}

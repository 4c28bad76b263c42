import type { Child } from "hono/jsx";
import { type ApiDocument, endpointsFor, titleOf } from "./document.ts";
import { type Reference, referenceOf, visibleSchemas } from "./schemas.ts";
import { Basics, BASICS } from "./basics.tsx";
import { Body, Callbacks, CALLBACKS } from "./callbacks.tsx";
import { type Chapter, DocsLayout } from "./docs-layout.tsx";
import { SchemaMembers } from "./members.tsx";
import { Operation } from "./operation.tsx";
import { EXAMPLE_ORIGIN } from "./origin.ts";
import { Prose } from "./prose.tsx";

/** Groups of readers of the reference, each with the tag of the operations that are for them. */
const AUDIENCES = [
  ["client", "For clients", "Read tasks and what became of their callbacks."],
  ["operator", "For operators", "Run the relay: accounts, credits, statistics, repairs."],
  ["upstream", "For upstreams", "Report what became of a job."],
] as const;

/** The reference of the API: all operations by audience, the callbacks, and the objects. */
export function ReferencePage({ document }: { readonly document: ApiDocument }) {
  const reference = referenceOf(document.components.schemas);
  return (
    <DocsLayout
      title="API reference"
      path="/docs"
      filter="Filter the reference"
      chapters={chaptersOf(document)}
    >
      <h1>API reference</h1>
      <p class="lead">
        Version {document.info.version} of the HTTP API of this relay, for clients, operators and
        upstreams. Commands use this relay's own address, <code>{EXAMPLE_ORIGIN}</code>.
      </p>
      <ChapterOf title="Basics">
        <Basics />
      </ChapterOf>
      <ChapterOf title="Callbacks" text="What the relay sends to your server when a task ends.">
        <Callbacks document={document} reference={reference} />
      </ChapterOf>
      {AUDIENCES.map(([tag, title, text]) => (
        <ChapterOf title={title} text={text}>
          {endpointsFor(document, tag).map((endpoint) => (
            <Operation endpoint={endpoint} reference={reference} />
          ))}
        </ChapterOf>
      ))}
      <OperatorEvents document={document} reference={reference} />
      <Objects reference={reference} />
    </DocsLayout>
  );
}

function OperatorEvents(props: { readonly document: ApiDocument; readonly reference: Reference }) {
  return (
    <ChapterOf
      title="Operator events"
      text="What the relay sends to OPERATOR_CALLBACK_URL when something needs its operator."
    >
      {operatorEvents(props.document).map(([name, { post }]) => (
        <Body name={name} operation={post} reference={props.reference} />
      ))}
    </ChapterOf>
  );
}

function operatorEvents({ webhooks }: ApiDocument) {
  return Object.entries(webhooks).filter(([, { post }]) => post.tags.includes("operator"));
}

function Objects({ reference }: { readonly reference: Reference }) {
  return (
    <ChapterOf title="Objects" text="What requests and answers are made of.">
      {visibleSchemas(reference.schemas).map(([name, schema]) => (
        <section class="topic" id={name} data-entry="">
          <h3>
            <a href={`#${name}`}>{name}</a>
          </h3>
          <p>
            <Prose text={schema.description ?? ""} />
          </p>
          <SchemaMembers schema={schema} reference={reference} />
          {schema.enum === undefined ? null : (
            <p>
              <code>{schema.enum.join(" | ")}</code>
            </p>
          )}
        </section>
      ))}
    </ChapterOf>
  );
}

function ChapterOf(props: {
  readonly title: string;
  readonly text?: string;
  readonly children?: Child;
}) {
  return (
    <section class="chapter" data-filter-group="">
      <header>
        <h2>{props.title}</h2>
        {props.text === undefined ? null : <p>{props.text}</p>}
      </header>
      {props.children}
    </section>
  );
}

function chaptersOf(document: ApiDocument): readonly Chapter[] {
  const operations = AUDIENCES.map(([tag, title]) => ({
    title,
    entries: endpointsFor(document, tag).map(({ operationId, method }) => ({
      id: operationId,
      title: titleOf(operationId),
      badge: method === "DELETE" ? "DEL" : method,
    })),
  }));
  const events = operatorEvents(document).map(([name]) => ({ id: name, title: name }));
  const objects = visibleSchemas(document.components.schemas).map(([name]) => ({
    id: name,
    title: name,
  }));
  return [
    { title: "Basics", entries: BASICS },
    { title: "Callbacks", entries: CALLBACKS },
    ...operations,
    { title: "Operator events", entries: events },
    { title: "Objects", entries: objects },
  ];
}

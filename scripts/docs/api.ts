import {
  type ApiDocument,
  type Endpoint,
  endpointsFor,
  titleOf,
} from "../../src/console/docs/document.ts";
import { objects, parameterTable } from "./api-fields.ts";
import { operation } from "./api-operation.ts";
import { anchor, sentence } from "./markdown.ts";
import { fillRegions, table } from "./regions.ts";

/** Readers of the reference, with the tag of their operations. */
const AUDIENCES = [
  [
    "client",
    "Routes for clients",
    "For those who have tasks made. See also [status links](status-links.md), [progress](#progress), [cancel](#cancel), [why a task waits](#why-a-task-waits), [usage](#usage), [idempotency](#idempotency), [account keys](#account-keys), [the request of an attempt](#the-request-of-an-attempt) and [why a server refuses a callback](#why-a-server-refuses-a-callback).",
  ],
  [
    "operator",
    "Routes for operators",
    "For those who run the relay. See also [lists](index.md), [statistics](index.md#statistics), [hosts and problems](index.md#hosts-and-problems), [metrics](index.md#metrics) and [deleting an account](storage.md#deleting-an-account).",
  ],
  [
    "upstream",
    "Routes for upstreams",
    "For the services that do the work. See also [events](#events).",
  ],
] as const;

/** Returns docs/api.md with its generated regions made from the description of the API (openapi.json). */
export function apiDoc(page: string, document: ApiDocument): string {
  const { schemas } = document.components;
  const routes = AUDIENCES.map(([tag, title, text]) => {
    const endpoints = endpointsFor(document, tag);
    const rows = endpoints.map(routeRow);
    return [`### ${title}`, text, table(["method, path", "access", "purpose"], rows)].join("\n\n");
  });
  const operations = AUDIENCES.flatMap(([tag]) =>
    endpointsFor(document, tag).map((endpoint) => operation(endpoint, schemas)),
  );
  return fillRegions(page, {
    routes: routes.join("\n\n"),
    callback: callbacks(document),
    operations: operations.join("\n\n"),
    objects: objects(schemas),
  });
}

function routeRow({ method, path, operationId, summary, ...rest }: Endpoint): readonly string[] {
  const link = `[\`${method} ${path}\`](#${anchor(titleOf(operationId))})`;
  return [link, rest["x-access"] ?? "", sentence(summary)];
}

/** The headers of a callback, and an example of the body of each. */
function callbacks({ webhooks, components }: ApiDocument): string {
  const sent = Object.entries(webhooks).filter(([, { post }]) => post.tags.includes("client"));
  const [first] = sent;
  const headers = parameterTable(first?.[1].post.parameters ?? [], components.schemas);
  const bodies = sent.flatMap(([name, { post }]) => {
    const example = post.requestBody?.content["application/json"]?.example;
    return [`The body of \`${name}\`:`, `\`\`\`json\n${JSON.stringify(example)}\n\`\`\``];
  });
  return [headers, ...bodies].join("\n\n");
}

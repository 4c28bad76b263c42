import * as z from "zod";
import { sentence } from "./markdown.ts";
import { fillRegions, table } from "./regions.ts";

const Operation = z.object({
  tags: z.tuple([z.enum(["client", "operator", "upstream"])]),
  summary: z.string(),
  "x-access": z.string().optional(),
});
const Callback = Operation.extend({
  parameters: z.array(z.object({ name: z.string(), description: z.string() })),
  requestBody: z.object({
    content: z.object({ "application/json": z.object({ example: z.unknown() }) }),
  }),
});
/** The parts of the description of the API (openapi.json) that docs/api.md shows. */
const Description = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  webhooks: z.record(z.string(), z.object({ post: Callback })),
});
type Description = z.output<typeof Description>;

/** Returns docs/api.md with its generated regions made from the description of the API. */
export function apiDoc(page: string, openApi: unknown): string {
  const description = Description.parse(openApi);
  return fillRegions(page, {
    client: routes(description, "client"),
    operator: routes(description, "operator"),
    upstream: routes(description, "upstream"),
    callback: callbacks(description),
  });
}

/** A table of the routes for one kind of callers. */
function routes({ paths }: Description, audience: Callback["tags"][0]): string {
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { tags, summary, ...rest }]) =>
      tags[0] === audience
        ? [[`\`${method.toUpperCase()} ${path}\``, rest["x-access"] ?? "", sentence(summary)]]
        : [],
    ),
  );
  return table(["method, path", "access", "purpose"], rows);
}

type Callback = z.output<typeof Callback>;

/** The headers of a callback, and an example of the body of each. */
function callbacks({ webhooks }: Description): string {
  const sent = Object.entries(webhooks).filter(([, { post }]) => post.tags[0] === "client");
  const headers = sent[0]?.[1].post.parameters ?? [];
  const rows = headers.map(({ name, description }) => [`\`${name}\``, sentence(description)]);
  const bodies = sent.flatMap(([name, { post }]) => {
    const { example } = post.requestBody.content["application/json"];
    return [`The body of \`${name}\`:`, `\`\`\`json\n${JSON.stringify(example)}\n\`\`\``];
  });
  return [table(["header", "value"], rows), ...bodies].join("\n\n");
}

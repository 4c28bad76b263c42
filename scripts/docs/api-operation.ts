import { exampleCurl } from "../../src/console/parts/curl.ts";
import { type Content, type Endpoint, titleOf } from "../../src/console/docs/document.ts";
import { typeOf } from "../../src/console/docs/schema-fields.ts";
import { bodyRows, parameterRows, type Schemas, typeText } from "./api-fields.ts";
import { sentence } from "./markdown.ts";
import { table } from "./regions.ts";

/** Origin of the commands, that of `npm start`. */
const ORIGIN = "http://localhost:8787";

/** The section of an operation: what it does, its parameters, answers and problems, and a command. */
export function operation(endpoint: Endpoint, schemas: Schemas): string {
  const { operationId, method, path, summary, description } = endpoint;
  const inputs = inputRows(endpoint, schemas);
  const answers = answerRows(endpoint, schemas);
  const problems = endpoint["x-problems"] ?? [];
  return [
    `### ${titleOf(operationId)}`,
    `\`${method} ${path}\``,
    [sentence(summary), ...(description === undefined ? [] : [description])].join(" "),
    ...(inputs.length > 0 ? [table(["parameter", "in", "type", "meaning"], inputs)] : []),
    ...(answers.length > 0 ? [table(["answer", "body", "meaning"], answers)] : []),
    ...(problems.length > 0
      ? [`Problems: ${problems.map((code) => `[\`${code}\`](errors.md#${code})`).join(", ")}.`]
      : []),
    // A WebSocket (101) needs a program.
    ...("101" in endpoint.responses ? [] : [`\`\`\`sh\n${exampleCurl(endpoint, ORIGIN)}\n\`\`\``]),
  ].join("\n\n");
}

function inputRows({ parameters = [], requestBody }: Endpoint, schemas: Schemas) {
  const body = requestBody?.content["application/json"];
  const rows = parameterRows(parameters, schemas);
  return body === undefined ? rows : [...rows, ...bodyRows(body.schema, schemas)];
}

function answerRows({ responses }: Endpoint, schemas: Schemas) {
  return Object.entries(responses).flatMap(([status, answer]) => {
    if (answer === undefined || answer.$ref !== undefined) return [];
    const { description = "", headers = {}, content = {} } = answer;
    const own = Object.entries(headers).flatMap(([name, header]) =>
      header?.description === undefined ? [] : [`\`${name}\`: ${sentence(header.description)}`],
    );
    return [[status, bodyText(content, schemas), [sentence(description), ...own].join(" ")]];
  });
}

/** Names the type of each body of an answer; problems are listed by their codes. */
function bodyText(content: Content, schemas: Schemas): string {
  const bodies = Object.entries(content).flatMap(([mediaType, body]) => {
    if (body === undefined || mediaType === "application/problem+json") return [];
    if (!mediaType.startsWith("application/json")) return [`\`${mediaType}\``];
    const { properties } = body.schema;
    if (properties === undefined) return [typeText(typeOf(body.schema), schemas)];
    const members = Object.entries(properties).map(([name, schema]) =>
      schema === undefined ? name : `\`${name}\` (${typeText(typeOf(schema), schemas)})`,
    );
    return [`object of ${members.join(", ")}`];
  });
  return bodies.join("; ") || "–";
}

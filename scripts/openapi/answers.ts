import type { oas32, ZodOpenApiResponseObject } from "zod-openapi";
import * as z from "zod/mini";
import type { Answer, Content, PassedDescription } from "../../src/api/http/route.openapi.ts";
import { ANSWER_HEADERS, COMMON_HEADERS } from "../../src/api/http/headers.openapi.ts";
import { ProblemSchema } from "../../src/api/http/problem.openapi.ts";
import { TaskStatus } from "../../src/api/shapes/task-shape.ts";
import { type ProblemCode, PROBLEMS } from "../../src/api/http/problem-list.ts";

type Headers = Readonly<Record<string, oas32.HeaderObject>>;

const TEXT = { type: "string" as const };
const COMMON = Object.fromEntries(
  Object.keys(COMMON_HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);

/** Headers of all answers, as components. */
export const HEADER_COMPONENTS = Object.fromEntries(
  Object.entries(COMMON_HEADERS).map(([name, header]) => [
    name,
    { ...header, required: true, schema: TEXT },
  ]),
);

/** Returns the description of an answer other than a problem. */
export function answerOf({
  description,
  content,
  headers,
  forStatusToken,
}: Answer): ZodOpenApiResponseObject {
  return {
    description,
    headers: { ...headersOf(headers), ...COMMON },
    ...(Object.keys(content).length > 0 && { content: contentOf(content) }),
    ...(forStatusToken !== undefined && {
      "x-for-status-token": { content: { "application/json": linkedContent(forStatusToken) } },
    }),
  };
}

/** Returns the description of an upstream's answers that are passed on as they are. */
export function passedAnswerOf({
  description,
  example,
}: PassedDescription): ZodOpenApiResponseObject {
  const headers = headersOf({
    "Relay-Task-Id": "always",
    "Relay-Status-Url": "sometimes",
    Location: "sometimes",
    "Idempotent-Replayed": "sometimes",
    "Retry-After": "sometimes",
    "x-should-retry": "sometimes",
  });
  return {
    description,
    headers: { ...headers, ...COMMON },
    content: { "*/*": { schema: {}, example } },
  };
}

/** Returns the name in `components/responses` of the answer that has one status and any of these problems. */
export function problemName(codes: readonly ProblemCode[]): string {
  return ["problem", ...codes].join(".");
}

const UNKNOWN_HEADERS = {
  Location: "sometimes",
  "Relay-Status-Url": "sometimes",
  "Idempotent-Replayed": "sometimes",
  "x-should-retry": "always",
} as const;

/** Returns the description of the answers of one status with these problems. */
export function problemAnswer(codes: readonly ProblemCode[]): ZodOpenApiResponseObject {
  const [first] = codes;
  if (first === undefined) throw new Error("an answer with a problem needs a code");
  const { status } = PROBLEMS[first];
  const headers: Answer["headers"] = {
    ...(status === 401 && { "WWW-Authenticate": "always" }),
    ...((status === 429 || status === 503) && { "Retry-After": "always" }),
    ...(codes.includes("submission_running") && { "Retry-After": "sometimes" }),
    ...(codes.includes("submit_unknown") && UNKNOWN_HEADERS),
  };
  const properties = {
    status: { type: "integer" as const, const: status },
    code: { type: "string" as const, enum: [...codes] },
  };
  const examples = codes.map((code) => [code, { value: exampleOf(code) }]);
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(" "),
    headers: { ...headersOf(headers), ...COMMON },
    content: {
      "application/problem+json": {
        schema: { allOf: [{ $ref: "#/components/schemas/Problem" }, { properties }] },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** Returns the description of the answers of one status that are either a problem or not. */
export function eitherAnswer(
  answer: ZodOpenApiResponseObject,
  problem: ZodOpenApiResponseObject,
): ZodOpenApiResponseObject {
  const description = `${answer.description}; or ${problem.description}`;
  return { ...problem, description, content: { ...answer.content, ...problem.content } };
}

/** Components that the answers with problems refer to. */
export const PROBLEM_SCHEMAS = { Problem: ProblemSchema };

/** Components that no operation refers to, because its answer has another schema for most readers. */
export const FURTHER_SCHEMAS = { TaskStatus };

function contentOf(content: Answer["content"]) {
  return Object.fromEntries(
    Object.entries(content).map(([type, { schema, example }]) => [type, { schema, example }]),
  );
}

/** Refers to the schema by its name, because extensions of the description are not converted. */
function linkedContent({ schema, example }: Content) {
  const { id } = z.globalRegistry.get(schema) ?? {};
  if (id === undefined) throw new Error("the body of an answer to a status token needs a name");
  return { schema: { $ref: `#/components/schemas/${id}` }, example };
}

/** Returns an example of a problem, without its causes: the relay has them once more for `/docs/errors`. */
function exampleOf(code: ProblemCode) {
  const { status, title } = PROBLEMS[code];
  const type = `https://relay.example.com/docs/errors#${code}`;
  return { type, title, status, detail: `${title}.`, code };
}

function headersOf(headers: Answer["headers"]): Headers {
  return Object.fromEntries(
    Object.entries(ANSWER_HEADERS).flatMap(([name, header]) => {
      const presence = new Map(Object.entries(headers)).get(name);
      if (presence === undefined) return [];
      return [[name, { ...header, required: presence === "always", schema: TEXT }]];
    }),
  );
}

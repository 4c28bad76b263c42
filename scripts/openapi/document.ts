import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from "zod-openapi";
import packageJson from "../../package.json" with { type: "json" };
import { DESCRIPTIONS } from "../../src/api/routes.openapi.ts";
import type { RouteDescription } from "../../src/api/http/route.openapi.ts";
import { problemsOf } from "../../src/api/http/problem.openapi.ts";
import { PROBLEMS } from "../../src/api/http/problem-list.ts";
import type { Route } from "../../src/api/http/route.ts";
import { ROUTES } from "../../src/api/routes.ts";
import {
  answerOf,
  eitherAnswer,
  FURTHER_SCHEMAS,
  HEADER_COMPONENTS,
  problemAnswer,
  passedAnswerOf,
  problemName,
  PROBLEM_SCHEMAS,
} from "./answers.ts";
import { OPENAPI_FILE } from "./openapi-file.ts";
import { describeRequests, openApiPath, plainParameters } from "./requests.ts";
import { CONVERSION } from "./schemas.ts";
import { accessText, SECURITY_SCHEMES, securityOf } from "./security.ts";
import { webhooks } from "./webhooks.ts";

const TAGS = [
  { name: "client", description: "For those who have tasks made." },
  { name: "operator", description: "For those who run the relay." },
  { name: "upstream", description: "For the services that do the work." },
];

/** Builds the description of the API (OpenAPI 3.1), as `/openapi.json` serves it. */
function openApiDocument() {
  const problems = new Map<string, ZodOpenApiResponseObject>();
  const paths: ZodOpenApiPathsObject = {};
  for (const route of ROUTES) {
    const operation = operationOf(route, DESCRIPTIONS[route.id], problems);
    const path = openApiPath(route);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
  }
  const source: ZodOpenApiObject = {
    openapi: "3.1.1",
    info: {
      title: "Task Relay",
      version: packageJson.version,
      description: packageJson.description,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "The relay that serves this document." }],
    tags: TAGS,
    paths: { ...paths, ...OPENAPI_FILE },
    webhooks: webhooks(),
    components: {
      schemas: { ...PROBLEM_SCHEMAS, ...FURTHER_SCHEMAS },
      headers: HEADER_COMPONENTS,
      responses: Object.fromEntries(problems),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
  return describeRequests(createDocument(source, CONVERSION));
}

/** Returns the text of `openapi.json`. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(), null, 2)}\n`;
}

function operationOf(
  route: Route,
  description: RouteDescription,
  problems: Map<string, ZodOpenApiResponseObject>,
): ZodOpenApiOperationObject {
  const { id, access, query, body, rateLimit } = route;
  const { summary, details, audience, request, answers, passedAnswer } = description;
  const parameters = plainParameters(route, description);
  const codes = problemsOf(route, description);
  const taken = Object.entries(answers).map(([status, one]) => [status, answerOf(one)] as const);
  const refusals = [...Map.groupBy(codes, (code) => PROBLEMS[code].status)].map(
    ([status, sameStatus]) => {
      const answer = answers[status];
      const problem = problemAnswer(sameStatus);
      if (answer !== undefined) return [status, eitherAnswer(answerOf(answer), problem)] as const;
      const name = problemName(sameStatus);
      problems.set(name, problem);
      return [status, { $ref: `#/components/responses/${name}` }] as const;
    },
  );
  return {
    operationId: id,
    tags: [audience],
    summary,
    description: [details, accessText(route)].filter((text) => text !== undefined).join(" "),
    security: securityOf(route),
    ...(parameters.length > 0 && { parameters: [...parameters] }),
    ...(query !== null && { requestParams: { query } }),
    ...(body !== null && {
      requestBody: {
        required: !body.safeParse({}).success,
        content: { "application/json": { schema: body, example: request?.example } },
      },
    }),
    ...(request?.passedBody !== undefined && {
      requestBody: {
        description: request.passedBody,
        required: true,
        content: { "*/*": { schema: {}, example: request.example } },
      },
    }),
    responses: {
      ...Object.fromEntries([...taken, ...refusals]),
      ...(passedAnswer !== undefined && { default: passedAnswerOf(passedAnswer) }),
    },
    "x-access": access,
    ...(rateLimit !== undefined && { "x-rate-limit": rateLimit }),
    "x-problems": codes,
  };
}

import { expect, it } from "vitest";
import { type Endpoint, titleOf } from "../../scripts/reference/document.ts";
import { exampleCurl } from "../../scripts/reference/example-curl.ts";
import { fieldsOf, limitsOf, typeOf } from "../../scripts/reference/schema-fields.ts";

const ORIGIN = "https://relay.example.com";
const ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const OPERATION = { operationId: "x", tags: [], summary: "", responses: {} };
const PATH_ID = { in: "path", name: "id", required: true, schema: {}, example: ID };
const KEY = { in: "header", name: "Idempotency-Key", schema: {}, example: "it's" };
const HOST = { in: "query", name: "host", required: true, schema: {}, example: "a b" };
const BODY = {
  required: true,
  content: { "application/json": { schema: {}, example: { a: "it's" } } },
};
const PROTECTED = [{ operatorKey: [] }];
const AUTHORIZATION = '  -H "Authorization: Bearer $KEY"';

it.each<[string, Omit<Endpoint, keyof typeof OPERATION>, string[]]>([
  [
    "a request for a list that needs a key and a parameter",
    { method: "GET", path: "/v1/tasks", security: PROTECTED, parameters: [HOST] },
    ["curl -fsS 'https://relay.example.com/v1/tasks?host=a+b' \\", AUTHORIZATION],
  ],
  [
    "a request with a body and an idempotency key that have quotes",
    {
      method: "POST",
      path: "/v1/tasks",
      security: PROTECTED,
      parameters: [KEY],
      requestBody: BODY,
    },
    [
      "curl -fsS https://relay.example.com/v1/tasks \\",
      `${AUTHORIZATION} \\`,
      "  -H 'Idempotency-Key: it'\\''s' \\",
      `  -d '{\n  "a": "it'\\''s"\n}'`,
    ],
  ],
  [
    "a deletion of the example task",
    { method: "DELETE", path: "/v1/tasks/{id}", security: PROTECTED, parameters: [PATH_ID] },
    [`curl -fsS ${ORIGIN}/v1/tasks/${ID} \\`, "  -X DELETE \\", AUTHORIZATION],
  ],
  [
    "a public request without a body and without an example for its path",
    { method: "POST", path: "/hooks/{provider}", security: [] },
    ["curl -fsS 'https://relay.example.com/hooks/{provider}' \\", "  -X POST"],
  ],
])(
  "the API reference shows %s as a curl command that can be pasted into a shell",
  (_, endpoint, lines) => {
    expect(exampleCurl({ ...OPERATION, ...endpoint })).toBe(lines.join("\n"));
  },
);

it.each([
  ["a reference", { $ref: "#/components/schemas/Task" }, "Task"],
  [
    "a nullable id",
    { anyOf: [{ type: "null" }, { type: "string", format: "uuid" }] },
    "uuid | null",
  ],
  ["alternatives of the same type", { oneOf: [{ type: "object" }, { type: "object" }] }, "object"],
  ["a list of words", { type: "array", items: { enum: ["a", 1] } }, 'array of "a" | 1'],
  ["a constant", { const: "ok" }, '"ok"'],
  ["a map", { type: "object", additionalProperties: { type: "integer" } }, "object of integer"],
  [
    "a map of nullable values",
    { type: "object", additionalProperties: { type: ["integer", "null"] } },
    "object of (integer | null)",
  ],
  [
    "alternatives with a type in common",
    { oneOf: [{ anyOf: [{ type: "null" }, { type: "integer" }] }, { type: "null" }] },
    "integer | null",
  ],
  ["any object", { type: "object", additionalProperties: {} }, "object"],
  ["a list of types", { type: ["string", "null"] }, "string | null"],
  ["a value of any type", {}, "any"],
])("the API reference writes the type of %s, with the schema %j, as %s", (_, schema, expected) => {
  const parts = typeOf(schema);
  expect(parts.map(({ text }) => text).join("")).toBe(expected);
});

/** Builds the schema of an object whose member `status` names its kind. */
const kind = (status: string, required: string[], output: object) => ({
  type: "object",
  properties: { status: { const: status, description: "State." }, output },
  required,
});

it("the API reference lists each member of a schema with oneOf once, and says in which alternatives it is required", () => {
  const inner = { type: "object", properties: { url: { type: "string", maxLength: 1024 } } };
  const schemas = { Failed: kind("failed", ["status"], { type: "null" }) };
  const schema = {
    oneOf: [
      kind("completed", ["status", "output"], inner),
      { $ref: "#/components/schemas/Failed" },
    ],
  };
  const none = { requirement: "", limits: "", description: "", members: [] };
  const url = {
    ...none,
    name: "url",
    type: [{ text: "string" }],
    limits: "at most 1,024 characters",
  };
  expect(fieldsOf(schema, schemas)).toEqual([
    {
      ...none,
      name: "status",
      type: [{ text: '"completed"' }, { text: " | " }, { text: '"failed"' }],
      requirement: "required",
      description: "State.",
    },
    {
      ...none,
      name: "output",
      type: [{ text: "object" }, { text: " | " }, { text: "null" }],
      requirement: "required when completed",
      members: [url],
    },
  ]);
});

it.each([
  [{ minLength: 1, maxLength: 256 }, "1–256 characters"],
  [{ anyOf: [{ minimum: 1 }, { type: "null" }] }, "at least 1"],
  [{ minLength: 1 }, "at least 1 character"],
  [{ minItems: 0, maxItems: 1000 }, "at most 1,000 items"],
  [{ minimum: 0, maximum: 99_999_999_999 }, "Unix seconds"],
  [{ type: "string" }, ""],
])(
  "the API reference writes the limits in the schema %j as this text (empty for no limits): %j",
  (schema, expected) => {
    expect(limitsOf([schema])).toBe(expected);
  },
);

it.each([
  ["registerTask", "Register task"],
  ["readOpenApi", "Read OpenAPI"],
  ["readJwks", "Read JWKS"],
])(
  "the API reference makes a title of separate words from an operation id, and writes acronyms in their usual form: %s becomes %s",
  (id, title) => {
    expect(titleOf(id)).toBe(title);
  },
);

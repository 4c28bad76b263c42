import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, it } from "vitest";
import * as z from "zod/mini";
import OPENAPI_TEXT from "../../openapi.json?raw";
import { openApiText } from "../../scripts/openapi/document.ts";
import { DESCRIPTIONS } from "../../src/api/routes.openapi.ts";
import { CALLBACKS, OPERATOR_EVENTS } from "../../src/api/shapes/sent-messages.openapi.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { describedBodies } from "../description/document.ts";

const document = z.record(z.string(), z.unknown()).parse(JSON.parse(OPENAPI_TEXT));

it("openapi.json is what `npm run docs` generates from the route table, the schemas and the descriptions of the API", () => {
  expect(OPENAPI_TEXT).toBe(openApiText());
});

it("openapi.json is a valid OpenAPI 3.1 document according to a third-party validator", async () => {
  expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
});

it("each route of the API has exactly one description, which is stored under its id, and no two routes have the same id", () => {
  expect(Object.keys(DESCRIPTIONS).toSorted()).toEqual(ROUTES.map(({ id }) => id).toSorted());
});

it.each(ROUTES.map((route) => [route.id, route] as const))(
  "the description of the route %s has a text for each parameter of its query and each field of its body, and for no others",
  (id, { query, body }) => {
    const { request } = DESCRIPTIONS[id];
    expect(Object.keys(request?.query ?? {}).toSorted()).toEqual(
      Object.keys(query?.shape ?? {}).toSorted(),
    );
    expect(Object.keys(request?.fields ?? {}).toSorted()).toEqual(fieldsOf(body).toSorted());
    if (body !== null) expect(body.safeParse(request?.example).error).toBeUndefined();
  },
);

it.each(
  ROUTES.flatMap(({ id, query }) =>
    Object.entries(DESCRIPTIONS[id].request?.query ?? {}).flatMap(([name, { integer }]) =>
      query === null || integer === undefined ? [] : [{ id, name, query, integer }],
    ),
  ),
)(
  'the limits and the default that the description of the route $id states for its parameter "$name" are those that the route applies',
  ({ name, query, integer: { min, max, fallback } }) => {
    // The largest page of a list that can be exported is that of an export.
    const others = "format" in query.shape ? { format: "csv" } : {};
    const accepts = (value: number) => query.safeParse({ ...others, [name]: `${value}` }).success;
    expect([min, max ?? Number.MAX_SAFE_INTEGER].map(accepts)).toEqual([true, true]);
    expect([min - 1, ...(max === undefined ? [] : [max + 1])].filter(accepts)).toEqual([]);
    const { [name]: absent } = query.parse({});
    expect(absent).toBe(fallback);
  },
);

const bodies = [
  ...Object.entries(DESCRIPTIONS).flatMap(([id, { answers }]) =>
    Object.entries(answers).flatMap(([status, { content }]) =>
      Object.entries(content).map(
        ([type, one]) => [`the answer ${status} (${type}) of ${id}`, one] as const,
      ),
    ),
  ),
  ...Object.entries(CALLBACKS).map(([name, one]) => [`the callback ${name}`, one] as const),
  ...OPERATOR_EVENTS.map((event) => [`the operator event ${event.type}`, event] as const),
];

it.each(bodies)(
  "the documented example of %s is valid by its strict schema",
  (_, { schema, example }) => {
    expect(schema.safeParse(example).error).toBeUndefined();
  },
);

it("openapi.json has an example of each body, which is valid by the schema there according to a third-party engine", () => {
  const wrong = describedBodies().flatMap(({ pointer, validate, examples }) => {
    if (examples.length === 0) return [`${pointer}: no example`];
    const errors = examples.flatMap((one) => (validate(one) ? [] : validate.errors));
    return errors.length === 0 ? [] : [`${pointer}: ${JSON.stringify(errors)}`];
  });
  expect(wrong).toEqual([]);
});

/** Returns the names of the fields of a body. */
function fieldsOf(body: z.core.$ZodType | null): readonly string[] {
  if (body === null) return [];
  if (body instanceof z.ZodMiniObject) return Object.keys(body.shape);
  if (!(body instanceof z.ZodMiniDiscriminatedUnion)) throw new Error("unknown kind of body");
  return [...new Set(body.def.options.flatMap(fieldsOf))];
}

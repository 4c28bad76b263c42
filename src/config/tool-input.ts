import * as z from "zod/mini";
import type {
  AnySchema,
  NumberSchema,
  ObjectSchema,
  TextSchema,
} from "../core/offers/tool-schema.ts";

/** Description of the JSON object that the caller of a tool may send. */
export interface ToolInput {
  /** The schema as clients get it, with `additionalProperties` at every object. */
  readonly schema: ObjectSchema;
  /** Parser that checks what a caller of the tool sends, and sets missing members that have a `default`. */
  readonly parser: z.ZodMiniType<Readonly<Record<string, unknown>>>;
}

const MESSAGES = {
  input:
    'must have a JSON Schema like {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}',
  node: "must have a schema with the type string, integer, number, boolean, array or object",
  text: "must have a text",
  texts: "must have a list of one or more texts",
  names: "must have a list of names",
  count: "must have a whole number of at least 0",
  number: "must have a number",
  numbers: "must have a list of one or more numbers",
  flag: "must have true or false",
  format: 'must have "uri"',
  examples: "must have a list",
  properties: 'must have members like {"prompt": {"type": "string"}}',
  required: "must name only members of properties",
  permitted: "must have a value that the schema around it permits",
  url: "must be a URL",
};

// Larger schemas are lazy, i.e. made when an offer first has a tool, so that the start of all other relays is shorter.

const Text = z.string(MESSAGES.text);
const Count = z.int(MESSAGES.count).check(z.gte(0, MESSAGES.count));
const Amount = z.number(MESSAGES.number);
const ANNOTATIONS = {
  title: z.optional(Text),
  description: z.optional(Text),
  examples: z.optional(z.array(z.unknown(), MESSAGES.examples)),
  default: z.optional(z.unknown()),
};
const AnyNode: z.ZodMiniType<AnySchema> = z.lazy(() =>
  z
    .discriminatedUnion(
      "type",
      [
        z.strictObject({
          ...ANNOTATIONS,
          type: z.literal("string"),
          enum: z.optional(z.array(Text, MESSAGES.texts).check(z.minLength(1, MESSAGES.texts))),
          minLength: z.optional(Count),
          maxLength: z.optional(Count),
          format: z.optional(z.literal("uri", MESSAGES.format)),
        }),
        z.strictObject({
          ...ANNOTATIONS,
          type: z.enum(["integer", "number"]),
          enum: z.optional(
            z.array(Amount, MESSAGES.numbers).check(z.minLength(1, MESSAGES.numbers)),
          ),
          minimum: z.optional(Amount),
          maximum: z.optional(Amount),
        }),
        z.strictObject({ ...ANNOTATIONS, type: z.literal("boolean") }),
        z.strictObject({
          ...ANNOTATIONS,
          type: z.literal("array"),
          items: AnyNode,
          minItems: z.optional(Count),
          maxItems: z.optional(Count),
        }),
        z.strictObject(OBJECT).check(hasItsMembers),
      ],
      MESSAGES.node,
    )
    .check(
      z.refine(
        (node) => node.default === undefined || parserOf(node).safeParse(node.default).success,
        { message: MESSAGES.permitted, path: ["default"] },
      ),
    ),
);

const OBJECT = {
  ...ANNOTATIONS,
  type: z.literal("object", MESSAGES.input),
  properties: z._default(z.record(z.string(), AnyNode, MESSAGES.properties), {}),
  required: z._default(z.array(Text, MESSAGES.names), []),
  additionalProperties: z._default(z.boolean(MESSAGES.flag), false),
};
const hasItsMembers = z.refine<Pick<ObjectSchema, "properties" | "required">>(
  ({ properties, required }) => required.every((name) => Object.hasOwn(properties, name)),
  { message: MESSAGES.required, path: ["required"] },
);

/**
 * Schema of the JSON Schema with which an offer describes the input of its tool. Keywords that the relay does not know
 * are faults, because the relay would not enforce them.
 */
export const InputSchema = z.lazy(() =>
  z.pipe(
    z.strictObject({ ...OBJECT, $schema: z.optional(Text) }, MESSAGES.input).check(hasItsMembers),
    z.transform((written): ObjectSchema => {
      const { $schema: _, ...schema } = written;
      return schema;
    }),
  ),
);

/** Returns the description of the input of a tool with this schema. */
export function inputOf(schema: ObjectSchema): ToolInput {
  return { schema, parser: z.lazy(() => objectParser(schema)) };
}

/** Returns the description of the input of one of the relay's own tools for tasks. */
export function toolInput(
  properties: Readonly<Record<string, AnySchema>>,
  required: readonly string[],
): ToolInput {
  return inputOf({ type: "object", properties, required, additionalProperties: false });
}

/** Returns the zod schema that checks a value against a part of a JSON Schema. */
function parserOf(node: AnySchema): z.ZodMiniType {
  switch (node.type) {
    case "string":
      return textParser(node);
    case "integer":
    case "number":
      return numberParser(node);
    case "boolean":
      return z.boolean();
    case "array":
      return z
        .array(parserOf(node.items))
        .check(z.minLength(node.minItems ?? 0), z.maxLength(node.maxItems ?? Infinity));
    case "object":
      return objectParser(node);
  }
}

function textParser({ enum: values, minLength, maxLength, format }: TextSchema): z.ZodMiniType {
  const text = z
    .string()
    .check(z.minLength(minLength ?? 0), z.maxLength(maxLength ?? Infinity))
    .check(z.refine((value) => format === undefined || URL.canParse(value), MESSAGES.url));
  return values === undefined ? text : z.literal([...values]);
}

function numberParser({ type, enum: values, minimum, maximum }: NumberSchema): z.ZodMiniType {
  const number = type === "integer" ? z.int() : z.number();
  if (values !== undefined) return z.literal([...values]);
  return number.check(z.gte(minimum ?? -Infinity), z.lte(maximum ?? Infinity));
}

function objectParser({ properties, required, additionalProperties }: ObjectSchema) {
  const members = Object.entries(properties).map(([name, node]) => {
    const parser = parserOf(node);
    // A default that the schema does not permit has been refused before.
    const standard = node.default === undefined ? undefined : parser.safeParse(node.default).data;
    if (standard != null) return [name, z._default(parser, standard)];
    return [name, required.includes(name) ? parser : z.optional(parser)];
  });
  const shape: Record<string, z.ZodMiniType> = Object.fromEntries(members);
  return additionalProperties ? z.looseObject(shape) : z.strictObject(shape);
}

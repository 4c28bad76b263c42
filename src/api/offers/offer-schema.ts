import { isOfBody } from "../../core/offers/limit-pointer.ts";
import type { Limit } from "../../core/offers/offer.ts";
import type { ObjectSchema } from "../../core/offers/tool-schema.ts";
import { namesIn } from "../../core/pointer.ts";

/** A JSON Schema (https://json-schema.org/draft/2020-12) with the keywords by which offers describe a value. */
export interface JsonSchema {
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean" | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly default?: unknown;
  readonly examples?: readonly unknown[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly format?: string | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly items?: JsonSchema | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: boolean | undefined;
}

const ANY_OBJECT: JsonSchema = { type: "object", properties: {}, required: [] };

/**
 * Returns the schema of the arguments of an offer with a body: the one that the operator has written, without its title
 * and description, narrowed by the limits of the offer.
 */
export function argumentSchema(schema: ObjectSchema, limits: readonly Limit[]): JsonSchema {
  const { title: _, description: __, ...written } = schema;
  return limits.filter(isOfBody).reduce<JsonSchema>(withLimit, written);
}

/**
 * Returns the schema of the body of an upstream's own call: what the limits of an offer demand of it, and the model.
 * Everything else is between the customer and the upstream.
 * @param modelPointer JSON Pointer of the model in the body. Null when the model is not in the body.
 * @param models names of models, in which `*` stands for any characters.
 */
export function callSchema(
  limits: readonly Limit[],
  modelPointer: string | null,
  models: readonly string[],
): JsonSchema {
  const limited = limits.filter(isOfBody).reduce(withLimit, ANY_OBJECT);
  if (modelPointer === null) return limited;
  const isAny = models.some((model) => model.includes("*"));
  const model: JsonSchema = isAny ? { type: "string" } : { type: "string", enum: models };
  const change = { apply: (own: JsonSchema) => ({ ...model, ...own }), isRequired: true };
  return withMember(limited, namesIn(modelPointer), change);
}

/** Returns the schema of the query of an upstream's own call. Null when the offer permits no parameter. */
export function querySchema(limits: readonly Limit[]): JsonSchema | null {
  const ofQuery = limits.filter((limit) => !isOfBody(limit));
  if (ofQuery.length === 0) return null;
  const limited = ofQuery.reduce<JsonSchema>(
    (schema, limit) => withMember(schema, [limit.pointer.slice(1)], changeBy(limit)),
    ANY_OBJECT,
  );
  return { ...limited, additionalProperties: false };
}

function withLimit(schema: JsonSchema, limit: Limit): JsonSchema {
  return withMember(schema, namesIn(limit.pointer), changeBy(limit));
}

/** A change of the schema of a member. */
interface MemberChange {
  readonly apply: (own: JsonSchema) => JsonSchema;
  /** True when the member must be there. */
  readonly isRequired: boolean;
}

function changeBy(limit: Limit): MemberChange {
  return { apply: (own) => narrowed(own, limit), isRequired: !limit.isOptional };
}

/**
 * Returns an object's schema in which the schema of the member at this path is changed. The objects around the member
 * are added where they are not described. A member that the schema does not permit stays as it is.
 */
function withMember(
  schema: JsonSchema,
  [name = "", ...inner]: readonly string[],
  change: MemberChange,
): JsonSchema {
  const own = memberIn(schema, name);
  if (own === null && schema.additionalProperties === false) return schema;
  const member =
    inner.length === 0 ? change.apply(own ?? {}) : withMember(own ?? ANY_OBJECT, inner, change);
  const isRequired = change.isRequired && own?.default === undefined;
  return {
    ...schema,
    properties: { ...schema.properties, [name]: member },
    required: isRequired ? withName(schema.required, name) : (schema.required ?? []),
  };
}

/** Returns the schema of a member of an object. Null when the schema does not describe it. */
function memberIn({ properties = {} }: JsonSchema, name: string): JsonSchema | null {
  return Object.hasOwn(properties, name) ? (properties[name] ?? null) : null;
}

function withName(names: JsonSchema["required"], name: string): readonly string[] {
  return names?.includes(name) === true ? names : [...(names ?? []), name];
}

/** Returns the schema of a value that also obeys a limit. */
function narrowed(own: JsonSchema, { values, min, max }: Limit): JsonSchema {
  if (values !== null) {
    const both = own.enum?.filter((value) => values.some((each) => each === value)) ?? values;
    return { type: typeOf(values), ...own, enum: both };
  }
  return {
    type: "number",
    ...own,
    ...bound("minimum", Math.max(min ?? -Infinity, own.minimum ?? -Infinity)),
    ...bound("maximum", Math.min(max ?? Infinity, own.maximum ?? Infinity)),
  };
}

function bound(keyword: "minimum" | "maximum", value: number): JsonSchema {
  return Number.isFinite(value) ? { [keyword]: value } : {};
}

/** Returns the type that all values have; undefined when they have several. */
function typeOf(values: NonNullable<Limit["values"]>): JsonSchema["type"] {
  const types = ["string", "number", "boolean"] as const;
  return types.find((type) => values.every((value) => typeof value === type));
}

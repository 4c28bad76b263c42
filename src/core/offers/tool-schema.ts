/** Keywords of a JSON Schema that describe a value and do not restrict it. */
interface Annotated {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly examples?: readonly unknown[] | undefined;
  readonly default?: unknown;
}

export interface TextSchema extends Annotated {
  readonly type: "string";
  readonly enum?: readonly string[] | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly format?: "uri" | undefined;
}

export interface NumberSchema extends Annotated {
  readonly type: "integer" | "number";
  readonly enum?: readonly number[] | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
}

interface FlagSchema extends Annotated {
  readonly type: "boolean";
}

interface ListSchema extends Annotated {
  readonly type: "array";
  readonly items: AnySchema;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
}

/**
 * JSON Schema of the object that the caller of a tool may send. As the schema of an offer's body, its `title` is the
 * tool's name for people, and its `description` is the text by which a language model decides when to use the tool.
 */
export interface ObjectSchema extends Annotated {
  readonly type: "object";
  readonly properties: Readonly<Record<string, AnySchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: boolean;
}

/** A JSON Schema (https://json-schema.org/draft/2020-12) that has only the keywords known in this file. */
export type AnySchema = TextSchema | NumberSchema | FlagSchema | ListSchema | ObjectSchema;

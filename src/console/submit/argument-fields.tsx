import type { JsonSchema } from "../../api/offers/offer-schema.ts";
import { parseJson } from "../../core/json.ts";
import { segmentOf } from "../../core/pointer.ts";
import type { FormFault } from "../http/forms.ts";
import { Field, Select, TextField } from "../parts/field.tsx";

/** Largest permitted length in characters of a text that is typed into a field of one line. */
const MAX_LINE_CHARS = 100;

/** How a value is typed into a form. */
type Kind = "group" | "choice" | "number" | "url" | "line" | "text" | "lines" | "json";

/** A value of a JSON Schema that is typed into a form. */
interface Argument {
  /** Name of the member of the object. */
  readonly name: string;
  /** Name of the field: the JSON Pointer of the value, without its first character. */
  readonly field: string;
  readonly label: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

interface ArgumentFieldsProps {
  /** Schema of an object. */
  readonly schema: JsonSchema;
  /** Typed values, with what is wrong with them. Null for a form that was not sent. */
  readonly fault: FormFault | null;
  /** JSON Pointer of the object, followed by `/`, without its first character. Empty for the whole. */
  readonly within?: string;
}

/** The fields of a form for the members of an object, as a JSON Schema describes them. */
export function ArgumentFields({ schema, fault, within = "" }: ArgumentFieldsProps) {
  return (
    <>
      {argumentsOf(schema, within).map((argument) =>
        kindOf(argument.schema) === "group" ? (
          <fieldset class="stack-s group">
            <legend>{argument.label}</legend>
            <Description schema={argument.schema} />
            <ArgumentFields schema={argument.schema} fault={fault} within={`${argument.field}/`} />
          </fieldset>
        ) : (
          <ArgumentField {...argument} fault={fault} />
        ),
      )}
    </>
  );
}

function Description({ schema: { description } }: { readonly schema: JsonSchema }) {
  return description === undefined ? null : <p class="muted small">{description}</p>;
}

function ArgumentField(props: Argument & { readonly fault: FormFault | null }) {
  const { field, label, schema, isRequired, fault } = props;
  const { minimum: min, maximum: max, maxLength: maxlength, default: standard } = schema;
  const [example] = schema.examples ?? [];
  const hint = hintOf(schema);
  const common = {
    id: `argument-${field}`,
    name: field,
    label: isRequired ? label : `${label} (optional)`,
    fault,
    ...(hint !== "" && { hint }),
  };
  const kind = kindOf(schema);
  // A required value that has an example begins with it, so that the form can be sent at once.
  const value = typedText(standard ?? (isRequired ? example : undefined), kind);
  const placeholder = typedText(example, kind) || undefined;
  const typed = { ...common, value, placeholder, required: isRequired };
  switch (kind) {
    case "choice": {
      const values = schema.enum ?? [true, false];
      const options = values.map((each) => [JSON.stringify(each), String(each)] as const);
      const none = isRequired ? [] : [["", "–"] as const];
      return <Select {...common} value={value} options={[...none, ...options]} />;
    }
    case "number":
      return (
        <Field
          {...typed}
          type="number"
          min={min}
          max={max}
          step={schema.type === "integer" ? 1 : "any"}
        />
      );
    case "url":
      return <Field {...typed} type="url" maxlength={maxlength} />;
    case "line":
      return <Field {...typed} maxlength={maxlength} />;
    case "group":
    case "text":
    case "lines":
    case "json":
      return <TextField {...typed} rows={3} {...(kind === "text" && { maxlength })} />;
  }
}

/** Returns a value as it is typed into a field. Empty when there is none. */
function typedText(value: unknown, kind: Kind): string {
  if (value === undefined) return "";
  if (kind === "lines" && Array.isArray(value)) return value.join("\n");
  const isText = typeof value === "string" && kind !== "choice" && kind !== "json";
  return isText ? value : JSON.stringify(value);
}

/** Returns a text that says which values are permitted, beside those that the field itself shows. */
function hintOf(schema: JsonSchema): string {
  const { description = "", minimum, maximum } = schema;
  const kind = kindOf(schema);
  const hints = [
    description,
    ...(kind === "lines" ? ["One to a line."] : []),
    ...(kind === "json" ? ["As JSON."] : []),
    ...(kind === "number" ? [rangeText(minimum, maximum)] : []),
  ];
  return hints.filter((hint) => hint !== "").join(" ");
}

function rangeText(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum !== undefined && maximum !== undefined) return `From ${minimum} to ${maximum}.`;
  if (minimum !== undefined) return `At least ${minimum}.`;
  return maximum === undefined ? "" : `At most ${maximum}.`;
}

/** Returns the names of the fields for the members of an object. */
export function argumentNames(schema: JsonSchema, within = ""): readonly string[] {
  return argumentsOf(schema, within).flatMap(({ field, schema: own }) =>
    kindOf(own) === "group" ? argumentNames(own, `${field}/`) : field,
  );
}

/**
 * Returns the object that was typed into a form. Empty fields are left out. A text that is no number, choice or JSON
 * stays a text, so that the schema of the object refuses it.
 */
export function typedArguments(form: URLSearchParams, schema: JsonSchema, within = ""): object {
  const members = argumentsOf(schema, within).flatMap((argument) => {
    const value = typedValue(form, argument);
    return value === undefined ? [] : [[argument.name, value] as const];
  });
  return Object.fromEntries(members);
}

function typedValue(form: URLSearchParams, { field, schema, isRequired }: Argument): unknown {
  const kind = kindOf(schema);
  if (kind === "group") {
    const value = typedArguments(form, schema, `${field}/`);
    return isRequired || Object.keys(value).length > 0 ? value : undefined;
  }
  const text = (form.get(field) ?? "").replaceAll("\r\n", "\n");
  if (text.trim() === "") return undefined;
  switch (kind) {
    case "number":
      return Number.isNaN(Number(text)) ? text : Number(text);
    case "choice":
    case "json":
      return parseJson(text) ?? text;
    case "lines":
      return text.split("\n").filter((line) => line.trim() !== "");
    case "url":
      return text.trim();
    case "line":
    case "text":
      return text;
  }
}

/** Returns the members of an object, with the names of their fields. */
function argumentsOf(
  { properties = {}, required = [] }: JsonSchema,
  within: string,
): readonly Argument[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    field: `${within}${segmentOf(name)}`,
    label: schema.title ?? name,
    schema,
    isRequired: required.includes(name),
  }));
}

function kindOf(schema: JsonSchema): Kind {
  if (schema.enum !== undefined) return "choice";
  switch (schema.type) {
    case "boolean":
      return "choice";
    case "integer":
    case "number":
      return "number";
    case "string":
      return textKind(schema);
    case "array":
      return schema.items?.type === "string" ? "lines" : "json";
    case "object":
      return Object.keys(schema.properties ?? {}).length === 0 ? "json" : "group";
    case undefined:
      return "json";
  }
}

function textKind({ format, maxLength = Infinity }: JsonSchema): Kind {
  if (format === "uri") return "url";
  return maxLength <= MAX_LINE_CHARS ? "line" : "text";
}

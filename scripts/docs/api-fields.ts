import type { ApiDocument, Parameter, Schema } from "../../src/console/docs/document.ts";
import {
  type Field,
  fieldsOf,
  limitsOf,
  typeOf,
  type TypePart,
} from "../../src/console/docs/schema-fields.ts";
import { referenceOf, visibleSchemas } from "../../src/console/docs/schemas.ts";
import { anchor, sentence } from "./markdown.ts";
import { table } from "./regions.ts";

export type Schemas = ApiDocument["components"]["schemas"];

/** The sections of all objects of which requests and answers are made. */
export function objects(schemas: Schemas): string {
  const sections = visibleSchemas(schemas).flatMap(([name, schema]) => [
    `### ${name}`,
    ...(schema.description === undefined ? [] : [sentence(schema.description)]),
    schema.enum === undefined ? fieldTable(schema, schemas) : `\`${schema.enum.join(" | ")}\``,
  ]);
  return sections.join("\n\n");
}

/** A table of the members of an object; those of an object within it follow it, with their path. */
function fieldTable(schema: Schema, schemas: Schemas): string {
  const rows = fieldRows(fieldsOf(schema, schemas), schemas);
  return table(["member", "type", "meaning"], rows);
}

/** The members of the body of a request, as rows of the table of its parameters. */
export function bodyRows(schema: Schema, schemas: Schemas): readonly (readonly string[])[] {
  const rows = fieldRows(fieldsOf(schema, schemas), schemas);
  return rows.map(([name = "", ...rest]) => [name, "body", ...rest]);
}

/** Parameters of a path, a query or of headers, as rows of the table of a request. */
export function parameterRows(
  parameters: readonly Parameter[],
  schemas: Schemas,
): readonly (readonly string[])[] {
  return parameters.map(({ name, schema, description = "", required = false, ...place }) => [
    `\`${name}\``,
    place.in,
    [typeText(typeOf(schema), schemas), ...(required ? ["required"] : [])].join(", "),
    meaningOf(description, limitsOf([schema]), schema.default),
  ]);
}

/** A table of headers. */
export function parameterTable(parameters: readonly Parameter[], schemas: Schemas): string {
  const rows = parameterRows(parameters, schemas).map(([name = "", , , meaning = ""]) => [
    name,
    meaning,
  ]);
  return table(["header", "value"], rows);
}

function fieldRows(
  fields: readonly Field[],
  schemas: Schemas,
  path = "",
): readonly (readonly string[])[] {
  return fields.flatMap(({ name, type, requirement, limits, description, members }) => [
    [
      `\`${path}${name}\``,
      [typeText(type, schemas), requirement].filter((text) => text !== "").join(", "),
      meaningOf(description, limits),
    ],
    ...fieldRows(members, schemas, `${path}${name}.`),
  ]);
}

function meaningOf(description: string, limits: string, fallback?: Schema["default"]): string {
  const texts = [
    description,
    // Most descriptions of a time say so themselves.
    limits === "Unix seconds" && description.includes(limits) ? "" : limits,
    fallback === undefined ? "" : `Default: \`${String(fallback)}\``,
  ];
  return texts
    .filter((text) => text !== "")
    .map(sentence)
    .join(" ");
}

/** Writes a type; names of schemas lead to their section. */
export function typeText(type: readonly TypePart[], schemas: Schemas): string {
  const { anchorOf } = referenceOf(schemas);
  const parts = type.map(({ text, schema }) =>
    schema === undefined ? plain(text) : `[${anchorOf(schema)}](#${anchor(anchorOf(schema))})`,
  );
  return parts.join("");
}

/** Writes literals as code, without quotes. */
function plain(text: string): string {
  return text.replaceAll(/"([^"]*)"/g, "`$1`");
}

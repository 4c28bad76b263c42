import type { NumberRange } from "../../src/config/readers.ts";
import { BINDINGS } from "./bindings.ts";
import { fillRegions, table } from "./regions.ts";
import { VARIABLE_GROUPS, type VariableDescription } from "./variables.ts";

/** Returns docs/configuration.md with its tables made from the descriptions of the variables and bindings. */
export function configurationDoc(page: string): string {
  const bindings = Object.entries(BINDINGS).map(([name, { type, purpose }]) => [
    code(name),
    type,
    purpose,
  ]);
  const groups = Object.entries(VARIABLE_GROUPS).map(([name, variables]) => [
    name,
    table(["name", "default", "values", "meaning"], Object.entries(variables).map(rowOf)),
  ]);
  return fillRegions(page, {
    ...Object.fromEntries(groups),
    bindings: table(["binding", "type", "purpose"], bindings),
  });
}

function rowOf([name, variable]: readonly [string, VariableDescription]): readonly string[] {
  const { fallback, without = "–", values, aliases = [], meaning } = variable;
  const names = [name, ...aliases].map(code).join(", ");
  return [
    aliases.length > 0 ? `${names} …` : names,
    fallback === null ? without : code(fallback),
    valuesText(values),
    meaning,
  ];
}

function valuesText(values: VariableDescription["values"]): string {
  if (typeof values === "string") return values;
  return "unit" in values ? rangeText(values) : values.map(code).join(", ");
}

function rangeText({ min, max, unit, maxCount }: NumberRange): string {
  const range = `${min} to ${max.toLocaleString("en")} ${unit}`;
  return maxCount === undefined ? range : `1 to ${maxCount} of ${range}`;
}

function code(text: string): string {
  return `\`${text}\``;
}

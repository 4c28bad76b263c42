import { Variables } from "./variables.ts";

/**
 * Returns the names of the variables whose value differs from their default. A variable that is set to its default is not
 * among them; a binding that a variable stands for is, once it is bound.
 */
export function changedVariables(vars: object): readonly string[] {
  return Object.entries(Variables.shape).flatMap(([name, reader]) => {
    const read = (value: unknown) => textOf(reader.safeParse(value).data);
    const value: unknown = Reflect.get(vars, name);
    return value === undefined || read(value) === read(undefined) ? [] : name;
  });
}

/** Returns a parsed value as JSON, in which a set is a list of its elements. */
function textOf(value: unknown): string | undefined {
  return JSON.stringify(value, (_, each: unknown) => (each instanceof Set ? [...each] : each));
}

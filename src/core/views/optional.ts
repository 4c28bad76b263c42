/**
 * Returns an object with one member, named `name`, that has the given value; an empty object when the value is null.
 */
export function optional(name: string, value: unknown): Record<string, unknown> {
  return value === null ? {} : { [name]: value };
}

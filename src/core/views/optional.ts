/** Returns an object with the one member `name`, or an empty object when the value is null. */
export function optional(name: string, value: unknown): Record<string, unknown> {
  return value === null ? {} : { [name]: value };
}

/** Returns an object with the member `name`, or with none when the value is null. */
export function optional(name: string, value: unknown): Record<string, unknown> {
  return value === null ? {} : { [name]: value };
}

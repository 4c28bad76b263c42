import type { Provider } from "./provider.ts";

/**
 * Finds the fault of the `endpoint` of a job, the part of the URL of the submit call that the URL of a poll
 * repeats. Only some providers use it, each in a form of its own; for the others it must be absent.
 * @param isPolled true when the connection has the key that polls need.
 * @returns the rest of a sentence that begins with "endpoint"; null for no fault.
 */
export function endpointFault(
  { name, polls }: Provider,
  endpoint: string | null,
  isPolled: boolean,
): string | null {
  const expected = polls?.endpoint ?? null;
  if (endpoint === null) {
    return expected?.isRequired === true && isPolled ? `is required: ${expected.meaning}` : null;
  }
  if (expected === null) return `is not used by ${name}`;
  return expected.pattern.test(endpoint) ? null : `must be ${expected.meaning}`;
}

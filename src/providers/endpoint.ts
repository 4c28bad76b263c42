import type { Provider } from "./provider.ts";

/**
 * Finds the fault of the field `endpoint` of a job. This is the part of the URL of the submit call (e.g. the
 * path of a model) that the URL of a poll must contain too. Only some providers need it, each in a form of
 * its own; for the others the field must be absent.
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

import type { Provider } from "./provider.ts";

/**
 * Checks the field `endpoint` of a job. The field contains a part of the URL of the submit call, e.g. the path of a
 * model, that the URL of a poll must contain too. Only some providers need the field; for all others it must be absent.
 * @param isPolled true when the connection has the key that polls need.
 * @returns the fault as the rest of a sentence that begins with "endpoint"; null when there is none.
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

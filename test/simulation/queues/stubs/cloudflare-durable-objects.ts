/** The methods that the platform may repeat after a lost connection. */
export const RETRYABLE = new Set<unknown>();

export function retryable(method: unknown): void {
  RETRYABLE.add(method);
}

import { errorText, log } from "./log.ts";

export const CALL_TIMEOUT_MS = 2_000;

/** The answer of another object, or `otherwise` when it fails or takes longer than 2 s. */
export async function withTimeout<T>(
  what: string,
  ask: () => Promise<T>,
  otherwise: T,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), CALL_TIMEOUT_MS);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (error) {
    log({ event: "call.unanswered", what, error: errorText(error) });
    return otherwise;
  } finally {
    clearTimeout(timer);
  }
}

import { RelayProblem } from "./problem.ts";

/** An answer as openapi-fetch gives it. */
interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** Returns what the relay has answered. @throws RelayProblem when it has refused the request. */
export async function dataOf<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (data === undefined) throw new RelayProblem(response, error);
  return data;
}

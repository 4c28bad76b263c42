import { RelayProblem } from "./problem.ts";

/** An answer in the form that openapi-fetch returns. */
interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** Returns the data of an answer of the relay. @throws RelayProblem when the relay has refused the request. */
export async function dataOf<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (data === undefined) throw new RelayProblem(response, error);
  return data;
}

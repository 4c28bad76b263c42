import { sleep } from "../lib/timeout.ts";
import type { Simulation } from "../providers/simulated-provider.ts";

/**
 * Returns the answer of a simulated provider to a submission, as late as an upstream would answer.
 * @throws the reason of the abort, when `signal` aborts first.
 */
export async function simulatedAnswer(
  simulation: Simulation,
  model: string,
  path: string,
  signal: AbortSignal,
): Promise<Response> {
  const { body, afterMs } = simulation.answer(model, path, Date.now());
  await sleep(afterMs, signal);
  return Response.json(body);
}

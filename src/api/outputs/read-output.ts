import type { OutputPlace } from "../../core/views/output-place.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { taskObject } from "../../objects/task/task-stub.ts";
import { OUTPUTS_PATH, readOutputLink } from "../../security/output-link.ts";
import { problemFrom } from "../http/internal-error.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { countFailedCredential, countLinkRequest } from "../http/rate-limit.ts";
import { publicRoute, requireRuntime } from "../http/route.ts";
import { answerFromCopy } from "./kept-output.ts";
import { outputGone } from "./output-gone.ts";
import { OUTPUT_HEADERS } from "./output-headers.ts";
import { answerFromSource } from "./source-output.ts";

interface OutputRequest {
  readonly request: Request;
  readonly env: Env;
  readonly params: { readonly id: string; readonly output: string; readonly file: string };
}

/**
 * Route of the links to outputs. The token in a link is checked before anything else is asked. The copy is served where
 * there is one; otherwise the task's object tells where the output is.
 */
export const readOutput = publicRoute(
  { id: "readOutput", method: "GET", path: `${OUTPUTS_PATH}/{id}/{output}/{file}` },
  async (call) => {
    try {
      return await answer(call);
    } catch (error) {
      // Pages of other sites read why they do not get an output.
      const { code, details } = problemFrom(error);
      throw new Problem(code, { ...details, headers: { ...details.headers, ...OUTPUT_HEADERS } });
    }
  },
);

async function answer({ request, env, params }: OutputRequest): Promise<Response> {
  const runtime = requireRuntime(env);
  const { id: taskId, output: number, file } = params;
  const { headers } = request;
  const output = await readOutputLink({ taskId, number, file }, runtime.keyring.outputKeys);
  if (output === null) {
    await countFailedCredential(headers, env);
    throw noOutput();
  }
  await countLinkRequest(taskId, headers, env);
  if (Date.now() >= output.expiresAtS * SECOND_MS) throw outputGone("link_expired");
  const bucket = env.OUTPUTS;
  const copy = bucket === undefined ? null : await answerFromCopy(request, output, bucket);
  if (copy !== null) return copy;
  const { recordedAt } = output;
  const place = await callObject<OutputPlace | null>(() =>
    taskObject(env, taskId).placeOfOutput(recordedAt, output.number),
  );
  if (place === null) throw noOutput();
  return answerFromSource(request, output, place, runtime);
}

function noOutput(): Problem {
  return new Problem("not_found", { detail: "There is no such output." });
}

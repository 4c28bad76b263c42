import { SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import { OUTPUTS_PATH, readOutputLink } from "../../security/output-link.ts";
import { orProblemWith } from "../http/cross-origin.ts";
import { Problem } from "../http/problem.ts";
import { countFailedCredential, countOutputRequest } from "../http/rate-limit.ts";
import { publicRoute, requireRuntime } from "../http/route.ts";
import { taskClient } from "../tasks/task-client.ts";
import { outputGone } from "./output-gone.ts";
import { OUTPUT_HEADERS } from "./output-headers.ts";
import { addressAtOutputsHost } from "./outputs-host.ts";
import { redirectTo, serveOutput } from "./serve-output.ts";

/** Parameter in the query of a link to an output with which browsers save the output. */
export const DOWNLOAD = "download";

interface OutputRequest {
  readonly request: Request;
  readonly url: URL;
  readonly env: Env;
  readonly params: { readonly id: string; readonly output: string; readonly file: string };
}

const byLink = publicRoute(
  { id: "readOutput", method: "GET", path: `${OUTPUTS_PATH}/{id}/{output}/{file}` },
  // Pages of other sites read why they do not get an output.
  async (call) => await orProblemWith(OUTPUT_HEADERS, answer(call)),
);

/**
 * Route of the links to outputs. If outputs have a host of their own, requests to another host are redirected there.
 * First the token in the link is checked. Then the relay's copy is sent; if there is none, the task's object tells
 * where the output is. Pages of all sites may show and read the response.
 */
export const readOutput = {
  ...byLink,
  crossOriginHeaders: "Range, If-Range, If-Match, If-None-Match",
};

async function answer({ request, env, url, params }: OutputRequest): Promise<Response> {
  const runtime = requireRuntime(env);
  const address = addressAtOutputsHost(url, runtime.config);
  if (address !== null) return redirectTo(address);
  const { id: taskId, output: number, file } = params;
  const { headers } = request;
  const output = await readOutputLink({ taskId, number, file }, runtime.keyring.outputKeys);
  if (output === null) {
    await countFailedCredential(headers, env);
    measureRefusal(env.METRICS);
    throw noOutput();
  }
  await countOutputRequest(taskId, headers, env);
  if (Date.now() >= output.expiresAtS * SECOND_MS) throw outputGone("link_expired");
  const placed = () => taskClient(env, taskId).placeOfOutput(output.recordedAt, output.number);
  const served = await serveOutput(request, output, placed, runtime, env);
  if (served === null) throw noOutput();
  if (url.searchParams.has(DOWNLOAD)) sendToBeSaved(served.headers);
  return served;
}

/** Lets browsers save an output also where they could show it. A redirect to the upstream's own link stays as it is. */
function sendToBeSaved(headers: Headers): void {
  const stated = headers.get("Content-Disposition");
  if (stated !== null) headers.set("Content-Disposition", stated.replace(/^inline/, "attachment"));
}

function noOutput(): Problem {
  return new Problem("not_found", { detail: "There is no such output." });
}

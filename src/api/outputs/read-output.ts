import { sourceUrlRulesOf } from "../../config/callback-url-rules.ts";
import { isFetchedWithKey } from "../../config/linked-outputs.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { OutputPlace } from "../../core/views/output-place.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { errorText } from "../../lib/log.ts";
import { documentedLinkLifeMs, linkLifeMs, sourceOf } from "../../objects/output/copy-source.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import { type LinkedOutput, OUTPUTS_PATH, readOutputLink } from "../../security/output-link.ts";
import { checkCallbackUrl } from "../../security/url-rules.ts";
import { orProblemWith } from "../http/cross-origin.ts";
import { unavailable } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { countFailedCredential, countOutputRequest } from "../http/rate-limit.ts";
import { publicRoute, requireRuntime } from "../http/route.ts";
import { taskClient } from "../tasks/task-client.ts";
import { outputGone } from "./output-gone.ts";
import { OUTPUT_HEADERS } from "./output-headers.ts";
import { addressAtOutputsHost } from "./outputs-host.ts";
import { serveCopy } from "./serve-copy.ts";
import { streamSource } from "./stream-source.ts";

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
 * Route of the links to outputs. If outputs have a host of their own, requests to another host are redirected to it.
 * The token in the link is checked first. The relay's copy is served if there is one; otherwise the task's object tells
 * where the output is. Pages of all sites may show and read the answer.
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
  // Erasing and deleting remove the copy, so that a copy which is there may be served without a call to the task.
  const copy = await copyOf(request, output, env);
  if (copy !== null) return copy;
  const place = await taskClient(env, taskId).placeOfOutput(output.recordedAt, output.number);
  if (place === null) throw noOutput();
  // The copy may have been completed since the bucket was asked.
  const late = place.state.kind === "kept" ? await copyOf(request, output, env) : null;
  return late ?? (await answerFromSource(request, output, place, runtime, env));
}

/**
 * Answers a request for an output with the relay's copy. Null when there is no copy.
 * @throws Problem `unavailable` when the bucket fails.
 */
async function copyOf(
  request: Request,
  output: LinkedOutput,
  { OUTPUTS: bucket }: Env,
): Promise<Response | null> {
  if (bucket === undefined) return null;
  try {
    return await serveCopy(request, output, bucket);
  } catch (error) {
    throw unavailable("The relay could not reach the bucket of outputs.", errorText(error));
  }
}

/**
 * Answers a request for an output of which the relay has no copy. It redirects to the upstream's own link; if this link
 * opens only with a key, it passes on what the upstream sends.
 * @throws Problem `output_gone` when no copy will be made and the upstream's own link has expired.
 */
async function answerFromSource(
  request: Request,
  output: LinkedOutput,
  place: OutputPlace,
  runtime: Runtime,
  { startup }: Env,
): Promise<Response> {
  const { config } = runtime;
  const { state, source, origin, connection, endedAt } = place;
  if (state.kind === "deleted") throw outputGone("deleted");
  const lifeMs = sourceLifeMs(state, connection, runtime);
  if (lifeMs !== null && Date.now() >= endedAt + lifeMs) {
    throw outputGone(state.kind === "lost" ? state.reason : "source_expired");
  }
  // The rules may be other ones than when the result was recorded.
  const target = checkCallbackUrl(source, sourceUrlRulesOf(config, origin));
  if (!target.ok) throw outputGone("blocked");
  if (isFetchedWithKey(place, config.connections.get(connection ?? ""))) {
    const opened = await sourceOf(place, source, runtime);
    return await streamSource(request, output, opened, startup.waitUntil);
  }
  return redirectTo(target.value.href);
}

function redirectTo(address: string): Response {
  const headers = { ...OUTPUT_HEADERS, Location: address, "Cache-Control": "no-store" };
  return new Response(null, { status: 302, headers });
}

/**
 * Returns for how many milliseconds, counted from the end of the job, the upstream's own link to an output is used.
 * Null means without limit: while a copy is being made, and for an output that the relay passes on from an upstream
 * that documents no time.
 */
function sourceLifeMs(
  { kind }: OutputPlace["state"],
  connection: string | null,
  runtime: Runtime,
): number | null {
  switch (kind) {
    case "copying":
    case "deleted":
      return null;
    case "streamed":
      return documentedLinkLifeMs(connection, runtime);
    case "kept":
    case "lost":
      return linkLifeMs(connection, runtime);
  }
}

function noOutput(): Problem {
  return new Problem("not_found", { detail: "There is no such output." });
}

import type { Runtime } from "../../config/runtime.ts";
import { sourceUrlRulesOf } from "../../config/callback-url-rules.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { OutputFacts } from "../../core/views/output-facts.ts";
import type { Env } from "../../env.ts";
import { errorText } from "../../log.ts";
import { linkLifeMs, sourceOf } from "../../objects/output/copy-source.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import { needsKeyOf } from "../../providers/keyed-link.ts";
import { type LinkedOutput, readOutputLink } from "../../security/output-link.ts";
import { checkCallbackUrl } from "../../security/url-rules.ts";
import { problemFrom } from "../http/internal-error.ts";
import { unavailable } from "../http/object-call.ts";
import { countFailedCredential, countOutputRequest } from "../http/rate-limit.ts";
import { publicRoute, requireRuntime, type RouteRequest } from "../http/route.ts";
import { taskClient } from "../tasks/task-client.ts";
import { OUTPUT_HEADERS } from "./output-headers.ts";
import { outputGone, readable, unknownOutput } from "./output-problems.ts";
import { serveCopy } from "./serve-copy.ts";
import { streamSource } from "./stream-source.ts";

/** A request with the link to an output. */
type LinkRequest = RouteRequest<Readonly<Record<"id" | "output" | "file", string>>>;

const byLink = publicRoute(
  { id: "readOutput", method: "GET", path: "/outputs/{id}/{output}/{file}" },
  async (call) => {
    try {
      return await answerLink(call);
    } catch (error) {
      throw readable(problemFrom(error));
    }
  },
);

/**
 * Answers the link to an output, for everybody who has it: with the relay's copy or, while there is none, by way of the
 * upstream. Pages of all sites may show and read the answer.
 */
export const readOutputRoute = {
  ...byLink,
  crossOriginHeaders: "Range, If-Range, If-Match, If-None-Match",
};

async function answerLink({ request, env, params }: LinkRequest): Promise<Response> {
  const runtime = requireRuntime(env);
  const output = await outputOf(params, runtime);
  if (output === null) {
    await countFailedCredential(request.headers, env);
    measureRefusal(env.METRICS);
    throw unknownOutput();
  }
  const { taskId, number, recordedAt, expiresAtS } = output;
  await countOutputRequest(taskId, request.headers, env);
  if (Date.now() >= expiresAtS * SECOND_MS) throw outputGone("expired");
  // Erasing and deleting remove the copy first, so a copy that is there may be served without a call to the task.
  const copy = await copyOf(request, output, env);
  if (copy !== null) return copy;
  const facts = await taskClient(env, taskId).readOutput(recordedAt, number);
  if (facts === null) throw unknownOutput();
  // The copy may have been completed since the bucket was asked.
  const late = facts.state.kind === "kept" ? await copyOf(request, output, env) : null;
  return late ?? answerFromSource(request, output, facts, runtime);
}

function outputOf(params: LinkRequest["params"], { keyring }: Runtime) {
  const { id: taskId, output: number, file } = params;
  return readOutputLink({ taskId, number, file }, keyring.outputKeys);
}

/** Answers a request with the relay's copy. Null when there is none. @throws Problem `unavailable` when the bucket fails. */
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
 * Answers a request for an output of which the relay has no copy: leads to the upstream's own link, or passes on what the
 * upstream sends when that link needs a key.
 * @throws Problem `output_gone` when there will be no copy and the upstream's own link is dead.
 */
async function answerFromSource(
  request: Request,
  output: LinkedOutput,
  facts: OutputFacts,
  runtime: Runtime,
): Promise<Response> {
  const { config } = runtime;
  const { state, source, origin, connection, endedAt } = facts;
  if (state.kind === "deleted") throw outputGone("deleted");
  const isGivenUp = state.kind === "lost" || state.kind === "kept";
  if (isGivenUp && Date.now() >= endedAt + linkLifeMs(connection, runtime)) {
    throw outputGone(state.kind === "lost" ? state.reason : "missing");
  }
  // The rules may be other ones than when the result was recorded.
  const target = checkCallbackUrl(source, sourceUrlRulesOf(config, origin));
  if (!target.ok) throw outputGone("blocked");
  if (needsKeyOf(target.value, config.connections.get(connection ?? ""))) {
    return streamSource(request, output, await sourceOf(facts, source, runtime));
  }
  const headers = { ...OUTPUT_HEADERS, Location: target.value.href, "Cache-Control": "no-store" };
  return new Response(null, { status: 302, headers });
}

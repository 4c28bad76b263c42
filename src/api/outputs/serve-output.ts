import { sourceUrlRulesOf } from "../../config/callback-url-rules.ts";
import { isFetchedWithKey } from "../../config/linked-outputs.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { OutputPlace } from "../../core/views/output-place.ts";
import type { Env } from "../../env.ts";
import { errorText } from "../../lib/log.ts";
import { documentedLinkLifeMs, linkLifeMs, sourceOf } from "../../objects/output/copy-source.ts";
import type { LinkedOutput } from "../../security/output-link.ts";
import { checkCallbackUrl } from "../../security/url-rules.ts";
import { unavailable } from "../http/object-call.ts";
import { outputGone } from "./output-gone.ts";
import { OUTPUT_HEADERS } from "./output-headers.ts";
import { serveCopy } from "./serve-copy.ts";
import { streamSource } from "./stream-source.ts";

/** Method and headers of a request for an output, which decide what part of the output is sent. */
type AskedFor = Pick<Request, "method" | "headers">;

/**
 * Answers a request for an output that has a link of the relay: with the relay's copy or, while there is none, with
 * what the upstream has.
 * @param placed asks the task's object where the output is. It is called only when there is no copy.
 * @returns null when there is no such output.
 * @throws Problem `output_gone` when there will be no copy and the upstream's own link has expired; `unavailable` when
 * the bucket fails.
 */
export async function serveOutput(
  request: AskedFor,
  output: LinkedOutput,
  placed: () => Promise<OutputPlace | null>,
  runtime: Runtime,
  env: Env,
): Promise<Response | null> {
  // Erasing and deleting remove the copy, so that a copy which is there may be served without a call to the task.
  const copy = await copyOf(request, output, env);
  if (copy !== null) return copy;
  const place = await placed();
  if (place === null) return null;
  // The copy may have been completed since the bucket was asked.
  const late = place.state.kind === "kept" ? await copyOf(request, output, env) : null;
  return late ?? (await answerFromSource(request, output, place, runtime, env));
}

/**
 * Answers a request for an output with the relay's copy.
 * @returns null when there is no copy.
 * @throws Problem `unavailable` when the bucket fails.
 */
export async function copyOf(
  request: AskedFor,
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
 * Answers a request for an output of which the relay has no copy. It redirects to the upstream's own link or, if this
 * link opens only with a key, passes on what the upstream sends.
 * @throws Problem `output_gone` when no copy will be made and the upstream's own link has expired.
 */
async function answerFromSource(
  request: AskedFor,
  output: LinkedOutput,
  place: OutputPlace,
  runtime: Runtime,
  { startup }: Env,
): Promise<Response> {
  const { config } = runtime;
  const { state, source, origin, connection, endedAt } = place;
  if (state.kind === "deleted") throw outputGone("deleted");
  if (source === null) throw outputGone("not_stored");
  const lifeMs = sourceLifeMs(state, connection, runtime);
  if (lifeMs !== null && Date.now() >= endedAt + lifeMs) {
    throw outputGone(state.kind === "lost" ? state.reason : "source_expired");
  }
  // The rules may be other ones than when the result was recorded.
  const target = checkCallbackUrl(source, sourceUrlRulesOf(config, origin));
  if (!target.ok) throw outputGone("blocked");
  if (isFetchedWithKey({ ...place, source }, config.connections.get(connection ?? ""))) {
    const opened = await sourceOf(place, source, runtime);
    return await streamSource(request, output, opened, startup.waitUntil);
  }
  return redirectTo(target.value.href);
}

/** Returns a redirect to another address, which browsers and proxies must not store. */
export function redirectTo(address: string): Response {
  const headers = { ...OUTPUT_HEADERS, Location: address, "Cache-Control": "no-store" };
  return new Response(null, { status: 302, headers });
}

/**
 * Returns for how many milliseconds after the end of the job the upstream's own link to an output is used.
 * @returns null when there is no limit: while a copy is being made, and for an output that the relay passes on from an
 * upstream whose documentation does not state how long its links work.
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

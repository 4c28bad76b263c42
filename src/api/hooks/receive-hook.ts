import { errorTextOf } from "../../config/config.ts";
import type { HookEvent } from "../../core/events/event.ts";
import { parseJson } from "../../core/json.ts";
import { log } from "../../log.ts";
import { publicKeys } from "../../outbound/jwks.ts";
import { progressIn, toNews } from "../../providers/observation.ts";
import type { Authenticity, Hook } from "../../providers/provider.ts";
import type { Runtime } from "../../config/runtime.ts";
import { taskObject } from "../../task-object/task-stub.ts";
import { readBody } from "../http/body.ts";
import { Problem, unknownTask } from "../http/problem.ts";
import { callObject, repeatable, unavailable } from "../http/object-call.ts";
import { TaskId } from "../http/fields.ts";
import { countFailedCredential } from "../http/rate-limit.ts";
import { publicRoute, requireRuntime } from "../http/route.ts";
import { HOOK_PATH, authenticateHookUrl, type HookTarget } from "./hook-url.ts";

const hookRoute = publicRoute(
  {
    method: "POST",
    path: HOOK_PATH,
    summary: "Receive a provider's completion hook",
    answers: { 200: "ok, also for a hook that changes nothing; or the answer to a handshake" },
    errors: ["unknown_task", "unauthenticated", "rate_limited", "unavailable"],
  },
  async ({ request, env, url, params }) => {
    const runtime = await requireRuntime(env);
    const { headers } = request;
    const target = await authenticateHookUrl(params, runtime);
    if (target === null) {
      await countFailedCredential(headers, env);
      throw unknownTask();
    }
    const body = await readBody(request, runtime.config.maxBodyBytes);
    const hook: Hook = { path: url.pathname, query: url.search.slice(1), headers, body };
    const json = parseJson(new TextDecoder().decode(body));
    const handshake = target.adapter.preflight?.(json) ?? null;
    if (handshake !== null) {
      return new Response(handshake, { headers: { "Content-Type": "application/json" } });
    }
    const isSigned = (await authenticityOf(target, hook)) === "signed";
    const event = eventOf(target, json, hook, isSigned, runtime);
    if (event !== null) {
      const receipt = await callObject(() => taskObject(env, target.taskId).hook(event));
      if (receipt === "unknown_task") throw unknownTask();
    }
    // Some providers repeat a hook unless the answer is exactly "ok".
    return new Response("ok");
  },
);

export const receiveHook = repeatable(hookRoute);

/**
 * Checks the provider's signature of a hook.
 * @returns `unsigned` for a provider that does not sign its hooks.
 * @throws Problem `unauthenticated` when the signature is wrong; `unavailable` when the provider's public
 * keys cannot be fetched.
 */
async function authenticityOf(
  { adapter, connection }: HookTarget,
  hook: Hook,
): Promise<Exclude<Authenticity, "refused" | "unavailable">> {
  const context = { now: Date.now(), publicKeys };
  const authenticity = await adapter.authenticate(hook, connection, context);
  switch (authenticity) {
    case "signed":
    case "unsigned":
      return authenticity;
    case "refused":
      throw new Problem("unauthenticated", {
        detail: "The provider's signature is missing, wrong, or not within 300 s of now.",
        headers: { "WWW-Authenticate": 'Signature realm="task-relay"' },
      });
    case "unavailable":
      throw unavailable("The provider's public keys could not be fetched.");
  }
}

/**
 * Converts a provider's hook to an event for the task; returns null, and writes a log line, when the hook
 * cannot be read, concerns another task or has an unknown state.
 */
function eventOf(
  { adapter, connection, taskId }: HookTarget,
  json: unknown,
  hook: Hook,
  isSigned: boolean,
  runtime: Runtime,
): HookEvent | null {
  const ignored = (reason: string): null => {
    log({ event: "hook.ignored", task_id: taskId, connection: connection.name, reason });
    return null;
  };
  const observation = json === undefined ? null : adapter.read(json, hook);
  if (observation === null) return ignored("malformed");
  // Another value than a task id is ignored: the operator may use this field for other purposes.
  const named = TaskId.safeParse(observation.taskId);
  if (named.success && named.data !== taskId) return ignored("other_task");
  const news = toNews(observation, errorTextOf(runtime.config, connection));
  if (news === null) return ignored("unknown_state");
  const { jobId } = observation;
  const progress = progressIn(observation);
  return { type: "hook", connection: connection.name, jobId, news, isSigned, ...progress };
}

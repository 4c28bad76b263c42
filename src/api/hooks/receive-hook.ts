import { parseJson } from "../../core/json.ts";
import type { HookRefusal } from "../../core/record/tracking.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { log, logAs } from "../../lib/log.ts";
import { publicKeys } from "../../outbound/jwks.ts";
import { DECLARED_PROVIDER } from "../../providers/generic/declaration.ts";
import { type Authenticity, type Hook, membersOf } from "../../providers/provider.ts";
import type { Runtime } from "../../config/runtime.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import { taskObject } from "../../objects/task/task-stub.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { bodyReader } from "../http/body.ts";
import { Problem, unknownTask } from "../http/problem.ts";
import { callObject, unavailable } from "../http/object-call.ts";
import { TaskId } from "../http/fields.ts";
import { countFailedCredential } from "../http/rate-limit.ts";
import { publicRoute, repeatable, requireRuntime } from "../http/route.ts";
import { disabledConnection } from "../tasks/connection.ts";
import { hookEvent } from "./hook-event.ts";
import {
  HOOK_PATH,
  authenticateHookUrl,
  type HookParams,
  type HookTarget,
  isOfDisabledConnection,
} from "./hook-url.ts";

/**
 * Longest time in milliseconds that the response to a refused hook waits until the task's object has stored the
 * refusal.
 */
const NOTE_TIMEOUT_MS = 2 * SECOND_MS;

const hookRoute = publicRoute(
  {
    id: "receiveHook",
    method: "POST",
    path: HOOK_PATH,
  },
  async ({ request, env, url, params }) => {
    const runtime = requireRuntime(env);
    const { headers } = request;
    const target = await authenticateHookUrl(params, runtime);
    if (target === null) {
      if (await isOfDisabledConnection(params, runtime)) throw disabledConnection(params.provider);
      logBadToken(params, runtime);
      await countFailedCredential(headers, env);
      measureRefusal(env.METRICS);
      throw unknownTask();
    }
    const readBody = bodyReader(request, runtime.config.maxBodyBytes);
    const hook: Hook = { path: url.pathname, query: url.search.slice(1), headers, readBody };
    const authenticity = await authenticityOf(target, hook);
    if (authenticity === "refused") {
      measureRefusal(env.METRICS, "refused", target.connection.name);
      await noteRefusal(target, "bad_signature", env);
      throw badSignature();
    }
    const json = parseJson(new TextDecoder().decode(await readBody()));
    const handshake = target.adapter.preflight?.(json) ?? null;
    if (handshake !== null) {
      return new Response(handshake, { headers: { "Content-Type": "application/json" } });
    }
    const event = hookEvent(target, json, hook, authenticity === "signed", runtime.config);
    if (typeof event === "string") {
      await noteRefusal(target, event, env);
    } else {
      // core/events/hooks.ts decides what the hook changes, and keeps one that comes before its job is attached.
      const receipt = await callObject(() => taskObject(env, target.taskId).hook(event));
      if (receipt === "unknown_task") throw unknownTask();
    }
    // Some providers repeat a hook unless the answer is exactly "ok".
    return new Response("ok");
  },
);

export const receiveHook = repeatable(hookRoute);

/** Possible results of checking a signature with the secrets of several connections, the one that counts most first. */
const AUTHENTICITIES = [
  "signed",
  "unsigned",
  "unavailable",
  "refused",
] as const satisfies readonly Authenticity[];

/**
 * Checks the provider's signature of a hook. A hook about a job that was submitted with a customer's key is `unsigned`,
 * whatever signature it has: the customer's account at the provider signs with a secret that the relay does not know. A
 * hook to a pool may have been signed for any of its members.
 * @returns `signed` when the hook may end its task; `unsigned` when a poll must confirm what the hook reports;
 * `refused` when the signature is missing or wrong.
 * @throws Problem `unavailable` when the provider's public keys cannot be fetched.
 */
async function authenticityOf(
  { adapter, connection, hasCustomerKey }: HookTarget,
  hook: Hook,
): Promise<Exclude<Authenticity, "unavailable">> {
  if (hasCustomerKey) return "unsigned";
  const context = { now: Date.now(), publicKeys };
  const checked = await Promise.all(
    membersOf(connection).map(async (member) => await adapter.authenticate(hook, member, context)),
  );
  const authenticity = AUTHENTICITIES.find((each) => checked.includes(each)) ?? "refused";
  // The links in a hook of a declared upstream may be paths, and the hook does not tell on the host of which member.
  const isHostUnknown = connection.pool !== null && connection.provider.name === DECLARED_PROVIDER;
  if (authenticity === "signed" && isHostUnknown) return "unsigned";
  if (authenticity !== "unavailable") return authenticity;
  throw unavailable("The provider's public keys could not be fetched.");
}

function badSignature(): Problem {
  return new Problem("unauthenticated", {
    detail: "The provider's signature is missing, wrong, or not within 300 s of now.",
    headers: { "WWW-Authenticate": 'Signature realm="task-relay"' },
  });
}

/** Logs that a hook with a valid token was refused, and why, and stores this with the task. */
async function noteRefusal(
  { connection: { name: connection }, taskId }: HookTarget,
  reason: HookRefusal,
  env: Env,
): Promise<void> {
  const event = reason === "bad_signature" ? "hook.refused" : "hook.ignored";
  log({ event, task_id: taskId, provider: connection, reason });
  const note = async () =>
    await taskObject(env, taskId).refuseHook({ type: "hook_refused", connection, reason });
  await withTimeout("hook_refused", note, undefined, NOTE_TIMEOUT_MS);
}

/**
 * Logs a request to a hook URL that the relay did not make, without the token of the URL. The log line names the
 * connection only when it is configured, and the task only when its id is well-formed.
 */
function logBadToken({ provider, id }: HookParams, { config }: Runtime): void {
  const isKnown = config.connections.has(provider) && TaskId.safeParse(id).success;
  const line = {
    event: "hook.refused",
    reason: "bad_token",
    ...(isKnown && { task_id: id, provider }),
  };
  logAs("detail", () => line, config);
}

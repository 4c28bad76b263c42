import { runInDurableObject } from "cloudflare:test";
import { env } from "../../src/startup.ts";
import * as z from "zod";
import { connectionObject } from "../../src/objects/object-names.ts";
import { ADAPTERS } from "../providers/adapters.ts";
import { answerTo, aRequest } from "./client.ts";
import { restart } from "./objects.ts";
import { CALLBACK_URL, Task } from "./tasks.ts";

/** A task that is registered with a connection, on a relay with these bindings. */
export interface Hooked {
  readonly id: string;
  readonly provider: string;
  readonly bindings: object;
  /** The hook URL from the answer to the registration. */
  readonly hookUrl: string;
}

export interface HookedOptions {
  readonly provider: string;
  /** Bindings of the relay; several tasks share one object, because keys are derived once per object. */
  readonly bindings?: object;
  /** Further fields of the registration. */
  readonly fields?: object;
}

const Registered = z.looseObject({ id: z.string(), hook_url: z.string() });

export async function hooked({ provider, bindings = env, fields }: HookedOptions): Promise<Hooked> {
  const id = crypto.randomUUID();
  if (ADAPTERS.has(provider)) await forgetHooks(provider);
  await restart(id, bindings);
  const body = { id, model: "m", callback_url: CALLBACK_URL, provider, ...fields };
  const response = await answerTo(aRequest("/v1/tasks", { body }), bindings);
  if (response.status !== 201) throw new Error(await response.text());
  const { hook_url: hookUrl } = Registered.parse(await response.json());
  return { id, provider, bindings, hookUrl };
}

/** Makes a connection that tests share forget which hooks did not come, so that no test depends on another. */
function forgetHooks(connection: string): Promise<boolean> {
  return runInDurableObject(connectionObject(env, connection), (_, { storage }) =>
    storage.kv.delete("hookless"),
  );
}

/** Attaches an upstream job. */
export async function attach(
  { id, provider, bindings }: Hooked,
  jobId: string,
  endpoint: string | null = null,
): Promise<Response> {
  const body = { provider, id: jobId, endpoint };
  return answerTo(aRequest(`/v1/tasks/${id}/upstream`, { body }), bindings);
}

/** Posts to the hook URL of a task. */
export async function sendHook(
  { hookUrl, bindings }: Pick<Hooked, "hookUrl" | "bindings">,
  body: BodyInit,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { pathname, search } = new URL(hookUrl);
  const request = aRequest(`${pathname}${search}`, { body, headers, key: null });
  return answerTo(request, bindings);
}

export async function readHooked({ id, bindings }: Hooked): Promise<z.output<typeof Task>> {
  return Task.parse(await (await answerTo(aRequest(`/v1/tasks/${id}`), bindings)).json());
}

export async function answerOf(response: Response): Promise<readonly [number, string]> {
  return [response.status, await response.text()];
}

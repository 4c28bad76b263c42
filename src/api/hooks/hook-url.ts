import {
  type HookToken,
  hookToken,
  NO_SUBMISSION,
  readHookToken,
} from "../../security/hook-token.ts";
import type { Connection, HookAdapter } from "../../providers/provider.ts";
import type { Runtime } from "../../config/runtime.ts";
import { isLoopback } from "../../security/url-rules.ts";
import type { CalledOrigin } from "../http/link-origin.ts";
import type { PathParams } from "../http/path.ts";
import { TaskId } from "../http/fields.ts";
import { Problem } from "../http/problem.ts";

/** The connection (a configured access to a provider) and the task to which a hook URL belongs. */
export interface HookTarget extends HookToken {
  readonly connection: Connection;
  readonly adapter: HookAdapter;
  readonly taskId: string;
}

/** The configuration of the relay, and the origin to which a request was sent. */
interface Called extends CalledOrigin {
  readonly runtime: Runtime;
}

/**
 * Members of the response to a registration that the client must add to its submit call to the provider, so that the
 * provider sends a hook.
 */
export interface HookFields {
  readonly hook_url?: string;
  readonly hook_parameter?: string;
  readonly id_parameter?: string;
}

/**
 * Returns the members that the response to a registration has for the provider's hook, e.g. `hook_url`; `{}` for a
 * provider without hooks. The client adds them to its submit call to the provider.
 * @param called configuration of the relay, and the origin to which the registration was sent.
 * @throws Problem `not_configured` when the relay does not know its own address.
 */
export async function hookFields(
  connection: Connection,
  taskId: string,
  called: Called,
): Promise<HookFields> {
  const { hooks } = connection.provider;
  if (hooks === null) return {};
  return {
    hook_url: await hookUrl(connection, taskId, NO_SUBMISSION, called),
    hook_parameter: hooks.parameter,
    ...(hooks.idParameter !== null && { id_parameter: hooks.idParameter }),
  };
}

/**
 * Returns the URL to which the provider of a connection sends its hooks about a task.
 * @param submission what the token in the URL states: the submission, and whether it uses a customer's key.
 * @param called configuration of the relay, and the origin to which the request was sent.
 * @throws Problem `not_configured` when the relay does not know its own address.
 */
export async function hookUrl(
  { name }: Connection,
  taskId: string,
  submission: HookToken,
  called: Called,
): Promise<string> {
  const base = hookOrigin(called);
  if (base === null) {
    const detail = "PUBLIC_URL is not set, so the relay has no hook URL for this provider.";
    throw new Problem("not_configured", { detail, headers: { "Retry-After": "60" } });
  }
  const token = await hookToken(name, taskId, submission, called.runtime.keyring.hookKeys);
  return `${base}/hooks/${name}/${taskId}/${token}`;
}

/**
 * Returns the origin with which hook URLs begin: that of `PUBLIC_URL` or, when this is not set, the origin of the
 * request, but only if it is proven to be the relay's own or is an address of this machine. Any other origin of a request
 * is not used, because the caller chooses it with the `Host` header. Null when there is none.
 */
function hookOrigin({ runtime, origin, isOriginProven }: Called): string | null {
  const { publicUrl } = runtime.config;
  if (publicUrl !== null) return publicUrl;
  return isOriginProven || isLoopback(new URL(origin)) ? origin : null;
}

/**
 * Tells whether providers can reach the hook URLs that a request gets. They cannot when the relay has no address for
 * them, or one of this machine.
 */
export function canHooksArrive(called: Called): boolean {
  const origin = hookOrigin(called);
  return origin !== null && !isLoopback(new URL(origin));
}

export const HOOK_PATH = "/hooks/{provider}/{id}/{token}";
export type HookParams = PathParams<typeof HOOK_PATH>;

/**
 * Tells whether a hook URL was made by the relay for a connection that is now disabled. Hooks to such a URL cannot be
 * read at present, so their senders are asked to repeat them.
 */
export async function isOfDisabledConnection(
  { provider: name, id, token }: HookParams,
  { config, keyring }: Runtime,
): Promise<boolean> {
  const taskId = TaskId.safeParse(id);
  const isDisabled = config.disabledConnections.some((each) => each.name === name);
  if (!taskId.success || !isDisabled || config.connections.has(name)) return false;
  return (await readHookToken(token, name, taskId.data, keyring.hookKeys)) !== null;
}

/**
 * Checks the token of a hook URL, without a call to a Durable Object.
 * @returns the connection and the task to which the URL belongs; null when the relay did not make the URL.
 */
export async function authenticateHookUrl(
  { provider: name, id, token }: HookParams,
  runtime: Runtime,
): Promise<HookTarget | null> {
  const taskId = TaskId.safeParse(id);
  const connection = runtime.config.connections.get(name);
  const adapter = connection?.provider.hooks ?? null;
  if (!taskId.success || connection === undefined || adapter === null) return null;
  const read = await readHookToken(token, name, taskId.data, runtime.keyring.hookKeys);
  return read && { connection, adapter, taskId: taskId.data, ...read };
}

import { hookToken, isHookToken } from "../../security/hook-token.ts";
import type { Connection, HookAdapter } from "../../providers/provider.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { PathParams } from "../http/path.ts";
import { TaskId } from "../http/fields.ts";

/** The connection (a configured access to a provider) and the task that a hook URL belongs to. */
export interface HookTarget {
  readonly connection: Connection;
  readonly adapter: HookAdapter;
  readonly taskId: string;
}

/** Members of the answer to a registration that the submit call to the provider must pass on for its hook. */
export interface HookFields {
  readonly hook_url?: string;
  readonly hook_parameter?: string;
  readonly id_parameter?: string;
}

/**
 * Returns the fields that the answer to a registration contains for the provider's hook, e.g. `hook_url`,
 * which the submit call to the provider must pass on; `{}` for a provider without hooks.
 */
export async function hookFields(
  connection: Connection,
  taskId: string,
  runtime: Runtime,
  origin: string,
): Promise<HookFields> {
  const { hooks } = connection.provider;
  if (hooks === null) return {};
  const token = await hookToken(connection.name, taskId, runtime.keyring.hookKeys);
  const base = runtime.config.publicUrl ?? origin;
  return {
    hook_url: `${base}/hooks/${connection.name}/${taskId}/${token}`,
    hook_parameter: hooks.parameter,
    ...(hooks.idParameter !== null && { id_parameter: hooks.idParameter }),
  };
}

export const HOOK_PATH = "/hooks/{provider}/{id}/{token}";
export type HookParams = PathParams<typeof HOOK_PATH>;

/**
 * Checks the token of a hook URL and returns the connection and the task that the URL belongs to, without a
 * call to any Durable Object; null when the relay did not make the URL.
 */
export async function authenticateHookUrl(
  { provider: name, id, token }: HookParams,
  runtime: Runtime,
): Promise<HookTarget | null> {
  const taskId = TaskId.safeParse(id);
  const connection = runtime.config.connections.get(name);
  const adapter = connection?.provider.hooks ?? null;
  if (!taskId.success || connection === undefined || adapter === null) return null;
  const isOurs = await isHookToken(token, name, taskId.data, runtime.keyring.hookKeys);
  return isOurs ? { connection, adapter, taskId: taskId.data } : null;
}

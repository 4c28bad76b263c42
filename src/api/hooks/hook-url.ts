import { hookToken, isHookToken } from "../../security/hook-token.ts";
import type { Connection, HookAdapter } from "../../providers/provider.ts";
import type { Runtime } from "../../config/runtime.ts";
import { unknownTask } from "../http/problem.ts";
import type { RouteRequest } from "../http/route.ts";
import { TaskId } from "../schemas.ts";

/** Whom a hook URL belongs to. */
export interface HookTarget {
  readonly connection: Connection;
  readonly adapter: HookAdapter;
  readonly taskId: string;
}

/** What the submit call has to carry, as the answer to a registration says it; `{}` without hooks. */
export async function hookFields(
  connection: Connection,
  taskId: string,
  runtime: Runtime,
  origin: string,
): Promise<Readonly<Record<string, string>>> {
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

/** @throws Problem `unknown_task` for whatever is not a URL of ours, without asking any object. */
export async function parseHookUrl(
  params: RouteRequest["params"],
  runtime: Runtime,
): Promise<HookTarget> {
  const { provider: name = "", id = "", token = "" } = params;
  const taskId = TaskId.safeParse(id);
  const connection = runtime.config.connections.get(name);
  const adapter = connection?.provider.hooks ?? null;
  if (!taskId.success || connection === undefined || adapter === null) throw unknownTask();
  const isOurs = await isHookToken(token, name, taskId.data, runtime.keyring.hookKeys);
  if (!isOurs) throw unknownTask();
  return { connection, adapter, taskId: taskId.data };
}

import { app } from "./app.ts";
import type { Env } from "./env.ts";
import { runScheduled } from "./cron.ts";
import { logSettingsOf } from "./config/runtime.ts";
import { consume } from "./index-db/consumer.ts";

export { AccountObject } from "./account/account-object.ts";
export { TaskObject } from "./task/task-object.ts";

export default {
  fetch: app.fetch,
  queue: async (batch, env) => consume(batch, env.INDEX_DB, logSettingsOf(env)),
  scheduled: async ({ scheduledTime }, env) => runScheduled(env, scheduledTime),
} satisfies ExportedHandler<Env>;

import { app } from "./app.ts";
import type { Env } from "./env.ts";
import { keepHouse } from "./housekeeping.ts";
import { consume } from "./index-db/consumer.ts";

export { AccountObject } from "./objects/account-object.ts";
export { TaskObject } from "./objects/task-object.ts";

export default {
  fetch: app.fetch,
  queue: async (batch, env) => consume(batch, env.INDEX_DB),
  scheduled: async ({ scheduledTime }, env) => keepHouse(env, scheduledTime),
} satisfies ExportedHandler<Env>;

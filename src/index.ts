import { app } from "./app.ts";
import { configOf, logSettingsOf } from "./config/runtime.ts";
import type { Env } from "./env.ts";
import { runScheduled } from "./cron.ts";
import { consume } from "./index-db/consumer.ts";
import { shardsOf } from "./index-db/shards.ts";

export { AccountObject } from "./account/account-object.ts";
export { Relay } from "./binding/relay.ts";
export { ConnectionObject } from "./objects/connection/connection-object.ts";
export { DeploymentObject } from "./objects/deployment-object.ts";
export { DigestObject } from "./objects/digest-object.ts";
export { HostObject } from "./objects/host-object.ts";
export { ListenersObject } from "./objects/listeners/listeners-object.ts";
export { TaskObject } from "./task-object/task-object.ts";

export default {
  fetch: app.fetch,
  queue: async (batch, env) => {
    const config = configOf(env);
    const shards = config.ok ? shardsOf(env, config.value) : null;
    return consume(batch, shards, logSettingsOf(env));
  },
  scheduled: async ({ scheduledTime }, env) => runScheduled(env, scheduledTime),
} satisfies ExportedHandler<Env>;

import { prepareMcpSdk } from "./api/mcp/load-mcp-sdk.ts";
import { AccountObject as Account } from "./objects/account/account-object.ts";
import { answerRequest } from "./app.ts";
import { CallObject as Call } from "./objects/call/call-object.ts";
import { WorkerEntrypoint } from "cloudflare:workers";
import { answerBound } from "./service-binding.ts";
import { runScheduled, stepsOf } from "./cron/cron.ts";
import { DigestObject as Digest } from "./objects/digest-object.ts";
import { IndexObject as Index } from "./objects/index/index-object.ts";
import { consume } from "./objects/index/index-row-consumer.ts";
import { OutputObject as Output } from "./objects/output/output-object.ts";
import { QueueObject as Queue } from "./objects/queue/queue-object.ts";
import { rehearse } from "./rehearsal.ts";
import { env } from "./startup.ts";
import type { Delivery } from "./core/duties/callback-attempt.ts";
import type { EndedAttempt } from "./objects/task/sender-binding.ts";
import { sendCallback } from "./objects/task/sender.ts";
import { TaskObject as Task } from "./objects/task/task-object.ts";

export { ConnectionObject } from "./objects/connection/connection-object.ts";
export { DeploymentObject } from "./objects/deployment-object.ts";
export { HostObject } from "./objects/host-object.ts";
export { JobObject } from "./objects/job-object.ts";
export { OfferBookObject } from "./objects/offers/offer-book-object.ts";
export { ListenersObject } from "./objects/listeners/listeners-object.ts";

await prepareMcpSdk(env);
await rehearse(env);

// The platform constructs these with an environment whose configuration is not parsed; they get `env` instead.

export class TaskObject extends Task {
  constructor(ctx: DurableObjectState) {
    super(ctx, env);
  }
}

export class AccountObject extends Account {
  constructor(ctx: DurableObjectState) {
    super(ctx, env);
  }
}

export class OutputObject extends Output {
  constructor(ctx: DurableObjectState) {
    super(ctx, env);
  }
}

export class CallObject extends Call {
  constructor(ctx: DurableObjectState) {
    super(ctx, env);
  }
}

export class QueueObject extends Queue {
  constructor(ctx: DurableObjectState) {
    super(ctx, env);
  }
}

export class DigestObject extends Digest {
  constructor(ctx: DurableObjectState) {
    super(ctx, env);
  }
}

export class IndexObject extends Index {
  constructor(ctx: DurableObjectState) {
    super(ctx, env, () => runScheduled(env, Date.now()));
  }
}

/** Entrypoint for other Workers of the same Cloudflare account, over a service binding (docs/binding.md). */
export class Relay extends WorkerEntrypoint {
  override async fetch(request: Request): Promise<Response> {
    return answerBound(request, env);
  }
}

/** Entrypoint that makes calls for the objects of this Worker, which are not billed meanwhile. */
export class Sender extends WorkerEntrypoint {
  async sendCallback(delivery: Delivery): Promise<EndedAttempt | null> {
    return sendCallback(delivery, env);
  }
}

export default {
  fetch: (request) => answerRequest(request, env),
  queue: async (batch) => consume(batch, env),
  scheduled: async ({ cron, scheduledTime }) =>
    runScheduled(env, scheduledTime, stepsOf(cron, scheduledTime)),
} satisfies ExportedHandler;

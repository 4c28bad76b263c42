import { Webhook } from "standardwebhooks";
import * as z from "zod";
import { type Caller, resultOf } from "./caller.ts";
import { TENANTS } from "./plan.ts";
import type { Post } from "../harness/receiver.ts";
import { field } from "../upstreams/api.ts";

const Secrets = z.object({ callbacks: z.array(z.string()).min(1) });

/** Checks callbacks as receivers do, with the published package and the secrets that the relay tells. */
export class Inspector {
  /** Posts that were checked and found to be what they should be. */
  readonly genuine = new Set<Post>();
  readonly #webhooks: ReadonlyMap<string, Webhook>;
  #checked = 0;

  private constructor(webhooks: ReadonlyMap<string, Webhook>) {
    this.#webhooks = webhooks;
  }

  static async instructed(caller: Caller): Promise<Inspector> {
    const webhooks = new Map<string, Webhook>();
    const told = async (name: string, path: string) => {
      const { json } = await caller.insist({ method: "GET", path }, [200]);
      webhooks.set(name, new Webhook(Secrets.parse(json).callbacks[0] ?? ""));
    };
    await told("", "/v1/signing-secrets");
    for (const { id } of TENANTS) await told(id, `/v1/accounts/${id}/signing-secrets`);
    return new Inspector(webhooks);
  }

  /** Checks those that are new, while they are fresh: a signature is valid for five minutes. */
  check(posts: readonly Post[], accountOf: (post: Post) => string | null): void {
    for (const post of posts.slice(this.#checked)) {
      if (this.#isGenuine(post, accountOf(post) ?? "")) this.genuine.add(post);
    }
    this.#checked = posts.length;
  }

  #isGenuine({ method, headers, body }: Post, accountId: string): boolean {
    try {
      this.#webhooks.get(accountId)?.verify(body, headers);
    } catch {
      return false;
    }
    const task: unknown = JSON.parse(body);
    const id = field(task, "id");
    const { "webhook-id": webhookId, "x-task-id": taskId, "x-event": event } = headers;
    return (
      method === "POST" &&
      this.#webhooks.has(accountId) &&
      resultOf(task) !== null &&
      event === `task.${String(field(task, "status"))}` &&
      taskId === id &&
      webhookId === `msg_${taskId}`
    );
  }
}

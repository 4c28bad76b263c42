import { Webhook } from "standardwebhooks";
import * as z from "zod";
import type { Post } from "../harness/receiver.ts";
import { field } from "../upstreams/apis.ts";
import { type Caller, resultOf } from "./caller.ts";
import { ACCOUNTS } from "./plan.ts";

const Secrets = z.object({ callbacks: z.array(z.string()).min(1) });

/** Verifies callbacks as a receiver does, with the published package and the secrets of the API. */
export class CallbackVerifier {
  /** Posts with a valid signature and correct headers. */
  readonly genuine = new Set<Post>();
  /** Webhooks by account id; `""` stands for the relay's own. */
  readonly #webhooks: ReadonlyMap<string, Webhook>;
  #checked = 0;

  private constructor(webhooks: ReadonlyMap<string, Webhook>) {
    this.#webhooks = webhooks;
  }

  static async create(caller: Caller): Promise<CallbackVerifier> {
    const paths: [string, string][] = [
      ["", "/v1/signing-secrets"],
      ...ACCOUNTS.map(({ id }): [string, string] => [id, `/v1/accounts/${id}/signing-secrets`]),
    ];
    const webhooks = paths.map(async ([account, path]): Promise<[string, Webhook]> => {
      const { json } = await caller.ask({ method: "GET", path }, [200]);
      return [account, new Webhook(Secrets.parse(json).callbacks[0] ?? "")];
    });
    return new CallbackVerifier(new Map(await Promise.all(webhooks)));
  }

  /** Checks the new posts while they are fresh: a signature is valid for five minutes. */
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
    const { "webhook-id": webhookId, "x-task-id": taskId, "x-event": event } = headers;
    return (
      method === "POST" &&
      this.#webhooks.has(accountId) &&
      resultOf(task) !== null &&
      event === `task.${String(field(task, "status"))}` &&
      taskId === field(task, "id") &&
      webhookId === `msg_${taskId}`
    );
  }
}

import { Webhook } from "standardwebhooks";
import * as z from "zod";
import type { Post } from "../../harness/receiver.ts";
import { field } from "../../upstreams/apis.ts";
import { type Caller, resultOf } from "../caller.ts";
import { ACCOUNTS } from "./plan.ts";

const Secrets = z.object({ callbacks: z.array(z.string()).min(1) });

/**
 * Returns a function that verifies a callback as a receiver does, with the published package and the secrets of the API,
 * and checks its headers.
 * @param accountOf returns the account of the task that a post is about; null for none.
 */
export async function signatureCheck(
  caller: Caller,
  accountOf: (post: Post) => string | null,
): Promise<(post: Post) => boolean> {
  const paths: [string, string][] = [
    // `""` stands for the relay itself.
    ["", "/v1/signing-secrets"],
    ...ACCOUNTS.map(({ id }): [string, string] => [id, `/v1/accounts/${id}/signing-secrets`]),
  ];
  const found = paths.map(async ([account, path]): Promise<[string, Webhook]> => {
    const { json } = await caller.ask({ method: "GET", path }, [200]);
    return [account, new Webhook(Secrets.parse(json).callbacks[0] ?? "")];
  });
  const webhooks = new Map(await Promise.all(found));
  return (post) => isGenuine(post, webhooks.get(accountOf(post) ?? ""));
}

function isGenuine({ method, headers, body }: Post, webhook: Webhook | undefined): boolean {
  try {
    webhook?.verify(body, headers);
  } catch {
    return false;
  }
  const task: unknown = JSON.parse(body);
  const { "webhook-id": webhookId, "x-task-id": taskId, "x-event": event } = headers;
  return (
    method === "POST" &&
    webhook !== undefined &&
    resultOf(task) !== null &&
    event === `task.${String(field(task, "status"))}` &&
    taskId === field(task, "id") &&
    webhookId === `msg_${taskId}`
  );
}

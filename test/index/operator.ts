import { runInDurableObject } from "cloudflare:test";
import { env } from "../../src/startup.ts";
import { Webhook } from "standardwebhooks";
import * as z from "zod";
import { deploymentObject } from "../../src/objects/object-names.ts";
import { anOutside, answering, type Outside, type Sent } from "../worker/outside.ts";
import { callWith } from "./support.ts";

export const OPERATOR_URL = "https://operator.example.org/events";
export const OPERATOR_BINDINGS = { OPERATOR_CALLBACK_URL: OPERATOR_URL };

const Event = z.strictObject({
  type: z.string(),
  timestamp: z.int(),
  data: z.record(z.string(), z.unknown()),
});

/** Starts the receivers of all clients and of the operator. @param client status of the answers; likewise `operator`. */
export function receivers(client: number, operator = 200): Outside {
  const outside = anOutside();
  outside.on("https://", answering("", client));
  outside.on(OPERATOR_URL, answering("", operator));
  return outside;
}

/** Returns the events sent to the operator, verified by a Standard Webhooks library. */
export async function operatorEvents(outside: Outside): Promise<readonly z.output<typeof Event>[]> {
  const response = await callWith(OPERATOR_BINDINGS, "/v1/signing-secrets");
  const { operator } = z
    .looseObject({ operator: z.array(z.string()) })
    .parse(await response.json());
  const [secret = "", ...others] = operator;
  if (others.length > 0) throw new Error("expected one secret");
  return outside
    .sentTo(OPERATOR_URL)
    .map(({ body, headers }) => Event.parse(new Webhook(secret).verify(body, { ...headers })));
}

/**
 * Resets the times of earlier alerts about the index, so that the next alerts are sent although another test
 * may have caused some within the hour.
 */
export async function allowIndexAlert(): Promise<void> {
  await runInDurableObject(deploymentObject(env), (_, { storage }) => {
    for (const [key] of Array.from(storage.kv.list({ prefix: "alerted_at:" }))) {
      storage.kv.delete(key);
    }
  });
}

export function sentToClients(outside: Outside): readonly Sent[] {
  return outside.sentTo("").filter(({ url }) => url !== OPERATOR_URL);
}

/** Returns a URL on a host of its own, because failures of a host are counted over all tasks. */
export function aCallbackUrl(): string {
  return `https://${crypto.randomUUID()}.example.net/callbacks`;
}

export const idOf = ({ headers }: Sent): string => headers["webhook-id"] ?? "";

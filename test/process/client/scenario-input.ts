import * as z from "zod";
import { OPERATOR_KEY } from "../harness/client.ts";
import type { Receiver } from "../harness/receiver.ts";
import type { Relay } from "../harness/relay.ts";
import type { ScenarioInput } from "./scenario.ts";

const Secrets = z.object({ callbacks: z.array(z.string()), public_keys: z.array(z.string()) });

/** Lets the relay send a callback, for the scenario to verify. */
export async function scenarioInput(relay: Relay, receiver: Receiver): Promise<ScenarioInput> {
  const callbackUrl = receiver.at("/hook", { kind: "answer", status: 204 });
  await relay.client.settled(await relay.client.finish(callbackUrl));
  const [post] = receiver.postsAt("/hook");
  if (post === undefined) throw new Error("no callback has arrived");
  const { json } = await relay.client.ask("GET", "/v1/signing-secrets");
  const { callbacks, public_keys: publicKeys } = Secrets.parse(json);
  const { headers, body } = post;
  const keys = [...callbacks, ...publicKeys];
  return { url: relay.url, key: OPERATOR_KEY, callbackUrl, received: { headers, body }, keys };
}

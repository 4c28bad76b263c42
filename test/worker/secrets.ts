import { env } from "cloudflare:workers";
import * as z from "zod";
import { callWith } from "./client.ts";

const Secrets = z.strictObject({
  callbacks: z.array(z.string()),
  events: z.array(z.string()),
  settlement: z.array(z.string()).optional(),
  public_keys: z.array(z.string()),
});

/** Reads the signing secrets of a relay with these bindings, the newest first. */
export async function secretsOf(bindings: object = env): Promise<z.output<typeof Secrets>> {
  return Secrets.parse(await (await callWith(bindings, "/v1/signing-secrets")).json());
}

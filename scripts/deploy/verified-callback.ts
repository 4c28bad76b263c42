import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import * as z from "zod";
import { callbackFinding } from "../doctor/callback.ts";
import { type Finding, ok, problem, unchecked } from "../doctor/finding.ts";
import type { Relay } from "../doctor/relay.ts";
import { verdictOn } from "../receive/verdict.ts";

/** Receiver on this machine that accepts only callbacks with a valid signature of the relay. */
export interface VerifyingReceiver extends AsyncDisposable {
  readonly port: number;
  /** Number of callbacks that came with a valid signature. */
  readonly verified: () => number;
}

const Secrets = z.looseObject({ callbacks: z.array(z.string()).min(1) });
const UNAUTHORIZED = 401;
const NO_CONTENT = 204;

/** Starts a receiver that verifies with the secret that the relay tells the operator. */
export async function startVerifyingReceiver(relay: Relay): Promise<VerifyingReceiver> {
  const { callbacks } = Secrets.parse((await relay.ask("/v1/signing-secrets")).json);
  const source = { secret: callbacks[0] ?? "", account: null, relay: relay.origin };
  let verified = 0;
  const server = createServer((request, response) => {
    const answer = async () => {
      const isValid = await isSigned(request, source);
      if (isValid) verified++;
      response.writeHead(isValid ? NO_CONTENT : UNAUTHORIZED).end();
    };
    void answer();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port on 127.0.0.1");
  return {
    port: address.port,
    verified: () => verified,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function isSigned(
  request: IncomingMessage,
  source: Parameters<typeof verdictOn>[1],
): Promise<boolean> {
  const body = await text(request).catch(() => "");
  const verdict = await verdictOn(
    { path: request.url ?? "/", headers: request.headers, body },
    source,
  );
  return verdict === "valid";
}

/** Has the relay send a test callback to a receiver on this machine, and says whether it was verified. */
export async function verifiedCallback(
  relay: Relay,
  receiver: VerifyingReceiver,
  url: string,
): Promise<Finding> {
  const finding = await callbackFinding(relay, url);
  if (finding.kind !== "ok") return finding;
  if (receiver.verified() > 0) return ok("callback: delivered to this machine, signature valid");
  return problem("callback: delivered, but not to this machine", "stop what answers in its place");
}

/** Returns the result that no callback was sent, and what one needs. */
export function noReceiver(command: string): Finding {
  return unchecked(`callback: give a receiver that the relay can reach: ${command} --to https://…`);
}

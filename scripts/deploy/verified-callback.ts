import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";
import * as z from "zod";
import { callbackFinding, type CallbackFinding } from "../doctor/callback.ts";
import { type Finding, ok, problem, unchecked } from "../doctor/finding.ts";
import type { Relay } from "../doctor/relay.ts";
import { type Environment, optionFor } from "../environments.ts";
import { verdictOn } from "../receive/verdict.ts";
import { Refusal } from "./refusal.ts";
import { openTunnel } from "./tunnel.ts";

/** Receiver on this machine that accepts only callbacks with a valid signature of the relay. */
export interface VerifyingReceiver extends AsyncDisposable {
  readonly port: number;
  /** Number of callbacks that came with a valid signature. */
  readonly verified: () => number;
}

const Secrets = z.looseObject({ callbacks: z.array(z.string()).min(1) });
/** Largest number of test callbacks through a tunnel, below the 10 a minute that the relay permits. */
const MAX_TRIES = 8;
const TRY_EVERY_MS = 6000;
const UNAUTHORIZED = 401;
const NO_CONTENT = 204;

/**
 * Starts a receiver that verifies with the secret that the relay tells the operator.
 * @throws Refusal when the relay does not tell it.
 */
export async function startVerifyingReceiver(
  relay: Relay,
  environment: Environment,
): Promise<VerifyingReceiver> {
  const answer = await relay.ask("/v1/signing-secrets");
  const secret = Secrets.safeParse(answer.json).data?.callbacks[0];
  if (secret === undefined) {
    const cause = `${relay.origin}/v1/signing-secrets answered ${answer.status}`;
    const cure = `npm run doctor --${optionFor(environment)} --url ${relay.origin}`;
    throw new Refusal(cause, cure);
  }
  const source = { secret, account: null, relay: relay.origin };
  let verified = 0;
  const server = createServer((request, response) => {
    const respond = async () => {
      const isValid = await isSigned(request, source);
      if (isValid) verified++;
      response.writeHead(isValid ? NO_CONTENT : UNAUTHORIZED).end();
    };
    void respond();
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
): Promise<CallbackFinding> {
  const finding = await callbackFinding(relay, url);
  const { kind, outcome } = finding;
  if (kind !== "ok") return finding;
  const verified = ok("callback: delivered to this machine, signature valid");
  if (receiver.verified() > 0) return { ...verified, outcome };
  const elsewhere = "callback: delivered, but not to this machine";
  return { ...problem(elsewhere, "stop what answers in its place"), outcome };
}

/**
 * Has the relay send a test callback to this machine through a tunnel. A new address is not known everywhere
 * at once, so an unreachable one is tried again.
 * @param cloudflared the program that opens the tunnel.
 * @returns null when there is no tunnel.
 */
export async function tunnelledCallback(
  relay: Relay,
  cloudflared: string,
  environment: Environment,
): Promise<Finding | null> {
  await using receiver = await startVerifyingReceiver(relay, environment);
  await using tunnel = await openTunnel(cloudflared, receiver.port);
  if (tunnel === null) return null;
  for (let tries = 1; ; tries++) {
    const finding = await verifiedCallback(relay, receiver, tunnel.url);
    if (finding.outcome !== "unreachable" || tries === MAX_TRIES) return finding;
    await sleep(TRY_EVERY_MS);
  }
}

/** Returns the result that no callback was sent, and what one needs. */
export function noReceiver(command: string): Finding {
  return unchecked(
    `callback: the relay cannot reach this machine; give a receiver (${command} --to https://…), or install cloudflared`,
  );
}

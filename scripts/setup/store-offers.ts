import { readFileSync } from "node:fs";
import * as z from "zod";
import { formOfOffer, parseOffers } from "../../src/config/offers.ts";
import { Refusal } from "../deploy/refusal.ts";
import { isLoopbackHost, keyFile, operatorKey } from "../doctor/operator-key.ts";
import { type Answer, NoAnswer, Relay } from "../doctor/relay.ts";
import { type EnvironmentName, ENVIRONMENTS } from "../environments.ts";
import { operatorKeyIn } from "../operator-keys.ts";
import type { SetupOptions } from "./options.ts";

const Stored = z.looseObject({ name: z.string(), version: z.int() });
const Refused = z.looseObject({
  code: z.string(),
  detail: z.string(),
  issues: z.optional(z.array(z.object({ path: z.string(), message: z.string() }))),
});
/** Largest distance between the ranks of two offers, which leaves room for offers between them. */
const RANK_STEP = 10;
const MAX_RANK = 10_000;

/** Reads a file with offers as the variable `OFFERS` has them. @throws Refusal when it is faulty. */
function readOffers(file: string) {
  const parsed = parseOffers(contentOf(file));
  if (!parsed.ok) throw new Refusal(`${file} ${parsed.error}`, "correct the file");
  const offers = parsed.value ?? [];
  const step = Math.max(1, Math.min(RANK_STEP, Math.floor(MAX_RANK / (offers.length + 1))));
  // Stored offers of the same rank are compared by name, so that the order of the list becomes that of the ranks.
  return offers
    .toSorted((a, b) => a.rank - b.rank)
    .map((offer, i) => formOfOffer({ ...offer, rank: (i + 1) * step }));
}

/**
 * Stores the offers of a file at a running relay, one after the other. A repetition stores only what is missing.
 * @throws Refusal when the file is faulty, or the relay refuses an offer, after those before it were stored.
 */
export async function storeOffers(
  { file, url }: NonNullable<SetupOptions["offers"]>,
  environment: EnvironmentName,
): Promise<void> {
  const offers = readOffers(file);
  const isLocal = isLoopbackHost(url.hostname);
  const secrets = keyFile(isLocal ? null : ENVIRONMENTS[environment], isLocal);
  const key = operatorKey(secrets, (content) => operatorKeyIn(content, "administer"));
  const relay = new Relay(url.origin, key);
  for (const offer of offers) {
    const answer = await asked(relay, offer);
    const stored = Stored.safeParse(answer.json);
    if (answer.status >= 300 || !stored.success) throw refusalOf(offer.name, answer);
    console.log(`offer ${offer.name}: version ${stored.data.version}`);
  }
}

async function asked(relay: Relay, offer: { readonly name: string }): Promise<Answer> {
  try {
    return await relay.ask(`/v1/offers/${offer.name}`, offer, "PUT");
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    throw new Refusal(`The relay cannot be reached: ${error.message}`, "check --url");
  }
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new Refusal(`${file} cannot be read`, "name a file with the list of OFFERS");
  }
}

function refusalOf(name: string, { status, json }: Answer): Refusal {
  const { code = "", detail = "no reason", issues = [] } = Refused.safeParse(json).data ?? {};
  const faults = issues.map(({ path, message }) => `; ${path} ${message}`).join("");
  const cause = `The relay has not stored the offer ${name} (status ${status}): ${detail}${faults}`;
  const isConfigured = code === "offers_in_configuration";
  return new Refusal(
    cause,
    isConfigured
      ? "remove OFFERS, deploy, and run this command again"
      : "correct the file or the relay, and run this command again",
  );
}

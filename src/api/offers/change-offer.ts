import * as z from "zod/mini";
import type { Config } from "../../config/config.ts";
import {
  connectionFault,
  formOfOffer,
  hidesTool,
  isOfferName,
  MAX_OFFER_BYTES,
  parseOffer,
  rivalFaults,
} from "../../config/offers.ts";
import { parseJson } from "../../core/json.ts";
import {
  type ChangeAnswer,
  MAX_BOOK_BYTES,
  MAX_OFFERS,
  type StoredOffer,
} from "../../core/offers/book-change.ts";
import type { OfferBook } from "../../core/offers/offer-book.ts";
import { OFFER_FRESHNESS } from "../../core/offers/offer-freshness.ts";
import type { Offer } from "../../core/offers/offer.ts";
import { SECOND_MS } from "../../core/time.ts";
import { log } from "../../lib/log.ts";
import { keyNameOf } from "../../objects/task/caller.ts";
import { offerBook } from "../../objects/object-names.ts";
import { bytesOf } from "../../security/encoding.ts";
import { json } from "../http/answer.ts";
import { NoFields } from "../http/fields.ts";
import { callObject, unavailable, unknownAnswer } from "../http/object-call.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { Flag, textsIn } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import { type Call, NoBody, operation } from "../operation.ts";
import { knownOffer, offerIndex } from "./offer-index.ts";
import { issueOf } from "./offer-view.ts";
import { offersOfRelay } from "./offers-of-relay.ts";
import { offerAnswer, shownOffers, unknownOffer } from "./read-offers.ts";
import { Trial, tryOffer } from "./try-offer.ts";

/** How often a change is compared with the other offers, while others change them at the same time. */
const MAX_TRIES = 5;

/** Schema of the conditions of a change: the headers `If-Match` and `If-None-Match`. */
const CONDITIONS = { if_match: z.optional(z.string()), if_none_match: z.optional(z.string()) };
const Conditions = z.strictObject(CONDITIONS);
type Conditions = z.output<typeof Conditions>;
const Replacement = z.strictObject({ ...CONDITIONS, dry_run: Flag });

/**
 * Schema of the body of `PUT /v1/offers/{name}`. Its members are checked by `parseOffer`, as those of an entry of
 * `OFFERS` are. With `dry_run` there may be a submission to try.
 */
const OfferBody = z.looseObject({
  title: z.optional(z.unknown()),
  description: z.optional(z.unknown()),
  accounts: z.optional(z.unknown()),
  rank: z.optional(z.unknown()),
  connection: z.unknown(),
  key: z.optional(z.unknown()),
  path: z.optional(z.unknown()),
  models: z.unknown(),
  limits: z.optional(z.unknown()),
  price: z.optional(z.unknown()),
  uploads: z.optional(z.unknown()),
  body: z.optional(z.unknown()),
  tool: z.optional(z.unknown()),
  try: z.optional(Trial),
});

type Changing = Pick<Call<"name", Conditions, unknown>, "env" | "runtime" | "caller" | "query"> & {
  readonly params: { readonly name: string };
};

/** Creates or replaces an offer. With `dry_run` nothing is stored. */
export const putOffer = operation(
  "putOffer",
  { access: "administer", params: ["name"], query: Replacement, body: OfferBody },
  async (call) => {
    const { try: trial, ...written } = call.body;
    const { name } = call.params;
    if (call.query.dry_run) return await dryRun(written, trial ?? null, call);
    if (trial !== undefined) {
      throw invalidRequest([{ path: "/try", message: "is only for ?dry_run=true" }]);
    }
    return { kind: "stored", ...(await changeOffer(name, call, written)) } as const;
  },
);

/** Reads the conditions of a change from the headers of a request, and the other parameters from its query. */
function conditional(schema: z.ZodMiniObject) {
  return {
    schema,
    read: (url: URL, headers: Headers) => ({
      ...textsIn(schema, url),
      if_match: headers.get("If-Match") ?? undefined,
      if_none_match: headers.get("If-None-Match") ?? undefined,
    }),
  };
}

export const putOfferRoute = routeOf(
  { method: "PUT", path: "/v1/offers/{name}" },
  putOffer,
  (result) => (result.kind === "tried" ? json(result.view) : storedAnswer(result)),
  conditional(z.strictObject({ dry_run: Flag })),
);

/** Deletes an offer. Its versions stay readable. */
export const deleteOffer = operation(
  "deleteOffer",
  { access: "administer", params: ["name"], query: Conditions, body: NoBody },
  async (call) => {
    await changeOffer(call.params.name, call, null);
  },
);

export const deleteOfferRoute = routeOf(
  { method: "DELETE", path: "/v1/offers/{name}" },
  deleteOffer,
  () => new Response(null, { status: 204 }),
  conditional(z.strictObject({})),
);

/** Makes an earlier version of an offer the present one again, also after the deletion of the offer. */
export const restoreOffer = operation(
  "restoreOffer",
  { access: "administer", params: ["name", "version"], query: Conditions, body: NoFields },
  async (call) => {
    const { name, version } = call.params;
    const versions = await callObject<readonly StoredOffer[]>(() =>
      offerBook(call.env).versions(name),
    );
    const content = versions.find((each) => `${each.version}` === version)?.content ?? null;
    if (content === null) {
      throw new Problem("not_found", { detail: "There is no such version of the offer." });
    }
    return await changeOffer(name, call, parseJson(content));
  },
);

export const restoreOfferRoute = routeOf(
  { method: "POST", path: "/v1/offers/{name}/versions/{version}/restore" },
  restoreOffer,
  (result) => storedAnswer(result),
  conditional(z.strictObject({})),
);

/** An offer as it is after an order to change it. */
interface Changed {
  readonly offer: ReturnType<typeof knownOffer>;
  readonly isNew: boolean;
}

function storedAnswer({ offer, isNew }: Changed): Response {
  const shown = { ...offer, name: offer.stored.name };
  return offerAnswer(shown, isNew ? 201 : 200, {
    seen_within_s: OFFER_FRESHNESS.waitAfterMs / SECOND_MS,
  });
}

/**
 * Changes an offer, after it was compared with all other offers as they are.
 * @param written the new offer as it is written; null when the offer is to be deleted.
 * @throws Problem when the change is refused.
 */
async function changeOffer(name: string, call: Changing, written: unknown): Promise<Changed> {
  const { env, runtime, caller } = call;
  requireStore(runtime.config);
  if (!isOfferName(name)) throw invalidRequest([NAME_ISSUE]);
  const by = keyNameOf(caller);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const book = await offerIndex(env).latest(call);
    const content = contentFor(name, written, book, call);
    const order = { name, content, by, revision: book.revision };
    const answer = await callObject<ChangeAnswer>(() => offerBook(env).change(order));
    switch (answer.kind) {
      case "moved":
        continue;
      case "full":
        throw offersFull();
      case "same":
        return { offer: knownOffer(answer.offer, runtime), isNew: false };
      case "changed": {
        const { offer, isNew } = answer;
        log({ event: "offer.change", offer: name, offer_version: offer.version, by });
        // The next submission in this isolate is to find the change.
        await offerIndex(env)
          .latest(call)
          .catch(() => null);
        return { offer: knownOffer(offer, runtime), isNew };
      }
      default:
        throw unknownAnswer(answer);
    }
  }
  throw unavailable("Other offers are being changed all the time.", "offers_moving");
}

const NAME_ISSUE = { path: "/name", message: "must be at most 64 of a-z 0-9 -" };

/**
 * Returns the JSON to be stored for an offer. Null when the offer is to be deleted.
 * @throws Problem when the change is refused.
 */
function contentFor(
  name: string,
  written: unknown,
  book: OfferBook,
  { query, runtime }: Changing,
): string | null {
  const stored = book.known.get(name)?.stored ?? null;
  const isThere = stored !== null && stored.content !== null;
  if (written === null && !isThere) throw unknownOffer();
  requireMatch(isThere ? stored.version : null, query);
  if (written === null) return null;
  const others = [...book.known.values()].flatMap(({ offer }) => offer ?? []);
  const offer = requireOffer(name, written, others, runtime.config);
  return contentOf(offer);
}

/** Returns the JSON with which an offer is stored, which has no members without a value. */
function contentOf(offer: Offer): string {
  const { name: _, ...members } = formOfOffer(offer);
  const given = Object.entries(members).filter(([, value]) => value !== null);
  return JSON.stringify(Object.fromEntries(given));
}

/**
 * Reads an offer that is to be stored beside others.
 * @throws Problem `invalid_request` with each fault of the offer.
 */
function requireOffer(
  name: string,
  written: unknown,
  stored: readonly Offer[],
  config: Config,
): Offer {
  const parsed = parseOffer(written, name, 0);
  if (!parsed.ok) throw invalidRequest(parsed.error.map(issueOf));
  const offer = parsed.value;
  const others = stored.filter((other) => other.name !== name);
  const { earlier = [], later = [] } = Object.groupBy(others, ({ rank, name: other }) =>
    rank < offer.rank || (rank === offer.rank && other < name) ? "earlier" : "later",
  );
  const unconnected = connectionFault(offer, config);
  const hidden = later.find((other) => hidesTool(offer, other));
  const faults = [
    ...(unconnected === null ? [] : [unconnected]),
    ...rivalFaults(offer, others, earlier),
  ];
  if (hidden !== undefined) {
    const message = `must be above that of the offer ${hidden.name}, whose tool would be hidden`;
    faults.push({ path: ["rank"], message });
  }
  const bytes = bytesOf(contentOf(offer)).length;
  if (bytes > MAX_OFFER_BYTES) {
    faults.push({ path: [], message: `must have at most ${MAX_OFFER_BYTES} bytes of JSON` });
  }
  if (faults.length > 0) throw invalidRequest(faults.map(issueOf));
  return offer;
}

/** Checks an offer, and tries a submission with it, without storing it. */
async function dryRun(written: unknown, trial: z.output<typeof Trial> | null, call: Changing) {
  const { name } = call.params;
  if (!isOfferName(name)) throw invalidRequest([NAME_ISSUE]);
  const shown = await shownOffers(call);
  const known = shown.find((each) => each.name === name);
  requireMatch(known?.stored?.version ?? null, call.query);
  const others = shown.flatMap(({ offer }) => (offer === null || offer.name === name ? [] : offer));
  const offer = requireOffer(name, written, others, call.runtime.config);
  // They were read just now.
  const usable = (await offersOfRelay(call)).all.filter((other) => other.name !== name);
  const view = {
    offer: formOfOffer(offer),
    replaces: known?.stored?.version ?? null,
    ...(trial && { try: await tryOffer(offer, usable, trial, call) }),
  };
  return { kind: "tried", view } as const;
}

/** @throws Problem `offers_in_configuration` when the variable `OFFERS` has all offers. */
function requireStore({ offers }: Config): void {
  if (offers === null) return;
  const detail =
    "The variable OFFERS has all offers of this relay. Without it they can be stored: npm run setup -- --offers.";
  throw new Problem("offers_in_configuration", { detail });
}

/**
 * Checks the conditions of a change.
 * @param version version of the offer; null when there is no such offer.
 * @throws Problem `offer_changed` when a condition is not met.
 */
function requireMatch(version: number | null, { if_match, if_none_match }: Conditions): void {
  const present = version === null ? "There is no such offer." : `Its version is ${version}.`;
  if (if_match !== undefined && !isMatched(version, if_match, "/If-Match")) {
    throw new Problem("offer_changed", { detail: `The offer is not as If-Match says. ${present}` });
  }
  if (if_none_match !== undefined && isMatched(version, if_none_match, "/If-None-Match")) {
    throw new Problem("offer_changed", {
      detail: `The offer is as If-None-Match says. ${present}`,
    });
  }
}

/**
 * Tells whether a header with ETags (RFC 9110 §8.8.3) has that of a version. A weak one counts as the strong one, because
 * Cloudflare weakens the ETag of an answer that it compresses.
 */
function isMatched(version: number | null, header: string, path: string): boolean {
  const tags = header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  const isList = tags.every((tag) => /^(?:"[^"]*"|\*)$/.test(tag));
  if (!isList) throw invalidRequest([{ path, message: 'must be an ETag like "42", or *' }]);
  return version !== null && tags.some((tag) => tag === "*" || tag === `"${version}"`);
}

function offersFull(): Problem {
  const detail = `The relay stores at most ${MAX_OFFERS} offers, of ${MAX_BOOK_BYTES} bytes together.`;
  return new Problem("offers_full", { detail });
}

import * as z from "zod/mini";
import type { KnownOffer } from "../../core/offers/offer-book.ts";
import type { StoredOffer } from "../../core/offers/book-change.ts";
import { offerBook } from "../../objects/object-names.ts";
import { accountOf } from "../../objects/task/caller.ts";
import { json } from "../http/answer.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { Flag, pageLimit } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { knownOffer, type OfferContext, offerIndex } from "./offer-index.ts";
import { ownOffers } from "./own-offers.ts";
import { changeView, etagOf, offerView, type ShownOffer } from "./offer-view.ts";

/**
 * Schema of the query of `GET /v1/offers`. The cursor is the name of the last offer of the previous page. With `disabled`
 * the list has only the offers by which nothing can be submitted.
 */
const Page = z.strictObject({
  limit: pageLimit({ fallback: 50, max: 500 }),
  cursor: z._default(z.string().check(z.maxLength(64)), ""),
  disabled: Flag,
});

/**
 * Lists one page of offers, in the order of their names: for an operator all of them, for an account those by which it
 * pays, as it may read them. An account never has disabled ones.
 */
export const listOffers = operation(
  "listOffers",
  { access: "read", rateLimit: "LIMIT_LISTS", query: Page, body: NoBody },
  async ({ query, caller, ...context }) => {
    const account = accountOf(caller);
    if (account !== null) {
      const own = query.disabled ? [] : await ownOffers(account, context);
      return { kind: "own", ...pageOf(own, query) } as const;
    }
    const all = await shownOffers(context);
    const found = query.disabled ? all.filter(({ fault }) => fault !== null) : all;
    return { kind: "all", ...pageOf(found, query) } as const;
  },
);

/** Returns the page of a list of offers that begins after the cursor, and the cursor of the next page. */
function pageOf<Each extends { readonly name: string }>(
  offers: readonly Each[],
  { limit, cursor }: z.output<typeof Page>,
) {
  const found = offers
    .filter(({ name }) => name > cursor)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const page = found.slice(0, limit);
  return { offers: page, next: found.length > limit ? (page.at(-1)?.name ?? null) : null };
}

export const listOffersRoute = routeOf(
  { method: "GET", path: "/v1/offers" },
  listOffers,
  ({ next, ...found }) => {
    const data = found.kind === "own" ? found.offers : found.offers.map(offerView);
    return json({ data, next_cursor: next });
  },
);

/** Reads an offer: as an operator, or as an account that pays by it. */
export const readOffer = operation(
  "readOffer",
  { access: "read", params: ["name"], query: NoQuery, body: NoBody },
  async ({ params: { name }, caller, ...context }) => {
    const account = accountOf(caller);
    if (account !== null) {
      return { kind: "own", offer: named(name, await ownOffers(account, context)) } as const;
    }
    return { kind: "all", offer: named(name, await shownOffers(context)) } as const;
  },
);

/** Returns the offer of this name. @throws Problem `not_found` when there is none. */
function named<Each extends { readonly name: string }>(name: string, offers: readonly Each[]) {
  const found = offers.find((offer) => offer.name === name);
  if (found === undefined) throw unknownOffer();
  return found;
}

export const readOfferRoute = routeOf(
  { method: "GET", path: "/v1/offers/{name}" },
  readOffer,
  (found) => (found.kind === "own" ? json(found.offer) : offerAnswer(found.offer, 200)),
);

/** Lists the kept versions of an offer, newest first, also after its deletion. */
export const listOfferVersions = operation(
  "listOfferVersions",
  { access: "inspect", params: ["name"], query: NoQuery, body: NoBody },
  async ({ params: { name }, env, runtime }) => {
    const versions = await callObject<readonly StoredOffer[]>(() => offerBook(env).versions(name));
    if (versions.length === 0) throw unknownOffer();
    return versions.map((stored) => knownOffer(stored, runtime));
  },
);

export const listOfferVersionsRoute = routeOf(
  { method: "GET", path: "/v1/offers/{name}/versions" },
  listOfferVersions,
  (versions) => json({ data: versions.map(versionView) }),
);

function versionView({ stored, offer, fault }: KnownOffer) {
  const isDeleted = stored.content === null;
  const { disabled, offer: form } = offerView({ name: stored.name, stored, offer, fault });
  return { ...changeView(stored), deleted: isDeleted, disabled, offer: form };
}

/** Returns the HTTP response with an offer, whose ETag is its version. */
export function offerAnswer(offer: ShownOffer, status: number, further: object = {}): Response {
  const headers = offer.stored === null ? {} : { ETag: etagOf(offer.stored.version) };
  return json({ ...offerView(offer), ...further }, status, headers);
}

/** Returns all offers of the relay as they are now, and not as this isolate knows them. */
export async function shownOffers(context: OfferContext): Promise<readonly ShownOffer[]> {
  const { offers } = context.runtime.config;
  if (offers !== null) {
    return offers.all.map((offer) => ({ name: offer.name, stored: null, offer, fault: null }));
  }
  const { known } = await offerIndex(context.env).latest(context);
  return [...known.values()].flatMap((each) =>
    each.stored.content === null ? [] : { ...each, name: each.stored.name },
  );
}

export function unknownOffer(): Problem {
  return new Problem("not_found", { detail: "There is no offer with this name." });
}

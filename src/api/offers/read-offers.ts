import * as z from "zod/mini";
import type { KnownOffer } from "../../core/offers/offer-book.ts";
import type { StoredOffer } from "../../core/offers/book-change.ts";
import { offerBook } from "../../objects/object-names.ts";
import { json } from "../http/answer.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { Flag, pageLimit } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import { type Context, NoBody, NoQuery, operation } from "../operation.ts";
import { knownOffer, offerIndex } from "./offer-index.ts";
import { changeView, etagOf, offerView, type ShownOffer } from "./offer-view.ts";

type OfferContext = Pick<Context, "env" | "runtime">;

/**
 * Schema of the query of `GET /v1/offers`. The cursor is the name of the last offer of the previous page. With `disabled`
 * the list has only the offers by which nothing can be submitted.
 */
const Page = z.strictObject({
  limit: pageLimit({ fallback: 50, max: 500 }),
  cursor: z._default(z.string().check(z.maxLength(64)), ""),
  disabled: Flag,
});

/** Lists one page of all offers, in the order of their names. */
const listOffers = operation(
  "listOffers",
  { access: "inspect", query: Page, body: NoBody },
  async ({ query: { limit, cursor, disabled }, ...context }) => {
    const all = await shownOffers(context);
    const found = all
      .filter(({ name, fault }) => name > cursor && (!disabled || fault !== null))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const page = found.slice(0, limit);
    return { offers: page, next: found.length > limit ? (page.at(-1)?.name ?? null) : null };
  },
);

export const listOffersRoute = routeOf(
  { method: "GET", path: "/v1/offers" },
  listOffers,
  ({ offers, next }) => json({ data: offers.map(offerView), next_cursor: next }),
);

/** Reads an offer. */
const readOffer = operation(
  "readOffer",
  { access: "inspect", params: ["name"], query: NoQuery, body: NoBody },
  async ({ params: { name }, ...context }) => {
    const offers = await shownOffers(context);
    const found = offers.find((offer) => offer.name === name);
    if (found === undefined) throw unknownOffer();
    return found;
  },
);

export const readOfferRoute = routeOf(
  { method: "GET", path: "/v1/offers/{name}" },
  readOffer,
  (offer) => offerAnswer(offer, 200),
);

/** Lists the kept versions of an offer, newest first, also after its deletion. */
const listOfferVersions = operation(
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

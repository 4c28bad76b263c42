import { fieldMessage, formOfOffer } from "../../config/offers.ts";
import type { StoredOffer } from "../../core/offers/book-change.ts";
import type { Offer, OfferFault } from "../../core/offers/offer.ts";
import { toSeconds } from "../../core/time.ts";
import { optional } from "../../core/views/optional.ts";
import { jsonPointer } from "../../core/pointer.ts";
import type { Issue } from "../http/problem.ts";

/** An offer as operators see it. */
export interface ShownOffer {
  readonly name: string;
  /** The stored form of the offer. Null for an offer of the variable `OFFERS`. */
  readonly stored: StoredOffer | null;
  /** The offer as it applies. Null when the stored form cannot be read. */
  readonly offer: Offer | null;
  readonly fault: OfferFault | null;
}

export function offerView({ name, stored, offer, fault }: ShownOffer) {
  return {
    name,
    ...(stored && changeView(stored)),
    disabled: fault && issueOf(fault),
    offer: offer && formOfOffer(offer),
  };
}

/** Returns which version a change has made, when it was made, and by which key. */
export function changeView({ version, changedAt, changedBy }: StoredOffer) {
  return { version, changed_at: toSeconds(changedAt), ...optional("changed_by", changedBy) };
}

/** Returns a fault of an offer as the issue of a request that has the offer as its body. */
export function issueOf({ path, message }: OfferFault): Issue {
  return { path: jsonPointer(path), message: fieldMessage(message) };
}

/** Returns the ETag of a version of an offer. */
export function etagOf(version: number): string {
  return `"${version}"`;
}

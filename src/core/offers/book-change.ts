/** An offer as the relay stores it, after its latest change. */
export interface StoredOffer {
  readonly name: string;
  /** Number of the latest change. Of two changes in the store, whichever offers they concern, the later has the higher. */
  readonly version: number;
  /** JSON of the offer. Null when the offer was deleted. */
  readonly content: string | null;
  /** Time of the change, in Unix milliseconds. */
  readonly changedAt: number;
  /** Name of the API key with which the change was made. Null when there was none. */
  readonly changedBy: string | null;
}

/** What has become of an order to change an offer. */
export type ChangeAnswer =
  | { readonly kind: "changed"; readonly offer: StoredOffer; readonly isNew: boolean }
  /** The offer was so already, and nothing was stored. */
  | { readonly kind: "same"; readonly offer: StoredOffer }
  /** Another change was made since `revision`, and nothing was stored. */
  | { readonly kind: "moved" }
  /** The store has no room for the offer. */
  | { readonly kind: "full" };

/** A part of the changes since a revision, oldest first; or the fact that they are not known any more. */
export type OfferChanges =
  | {
      readonly kind: "changes";
      readonly offers: readonly StoredOffer[];
      /** Number of the latest change in the store. */
      readonly revision: number;
      /** True when further changes follow those of this part. */
      readonly isMore: boolean;
    }
  | { readonly kind: "restart" };

/** Largest number of offers that the relay stores. */
export const MAX_OFFERS = 5_000;
/** Largest size of all stored offers together, in bytes of JSON. */
export const MAX_BOOK_BYTES = 8 * 1024 * 1024;
/** Largest number of versions of an offer that are kept. */
export const MAX_VERSIONS = 100;

import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import {
  type ChangeAnswer,
  MAX_BOOK_BYTES,
  MAX_OFFERS,
  type OfferChanges,
  type StoredOffer,
} from "../../core/offers/book-change.ts";
import { bytesOf } from "../../security/encoding.ts";
import { OfferTable } from "./offer-table.ts";

/** Facts about all offers together, which a change needs without reading every offer. */
interface Totals {
  /** Number of the latest change. */
  readonly revision: number;
  readonly offers: number;
  /** Size of all offers together, in bytes of JSON. */
  readonly bytes: number;
  /** Number of deleted offers that are kept. */
  readonly deleted: number;
  /** Highest version of a deletion that is not kept any more; 0 when all are kept. */
  readonly forgotten: number;
}

const TOTALS_KEY = "totals";
const NOTHING: Totals = { revision: 0, offers: 0, bytes: 0, deleted: 0, forgotten: 0 };
/** Largest number of deleted offers that are kept, for the readers that know them and for their history. */
const MAX_DELETED = 1_000;
/** Length of the contents in one answer, in characters, after which the rest follows in another answer. */
const PART_CHARS = 2 * 1024 * 1024;

/** An order to change an offer. */
export interface OfferOrder {
  readonly name: string;
  /** JSON of the offer. Null when the offer is to be deleted. */
  readonly content: string | null;
  /** Name of the API key with which the order is given. Null when there is none. */
  readonly by: string | null;
  /** Number of the latest change that the sender of the order knows, and with which it has compared the order. */
  readonly revision: number;
}

/**
 * Durable Object with the offers of the relay: there is one, `offers` (binding `OFFER_BOOK`). It stores the tables
 * `offers` and `offer_versions` (offer-table.ts), and `totals`, which counts them.
 *
 * Each change has a number, the version of the changed offer. Each isolate reads all offers once, and then at most once
 * in 30 seconds what has changed after the version that it knows, while accounts submit (`api/offers/offer-index.ts`).
 * With `OFFERS`, nobody reads it. No task depends on it: without it the offers that were read last hold.
 */
export class OfferBookObject extends DurableObject<object> {
  static {
    // The platform may repeat these calls after a lost connection, because they change nothing.
    for (const name of ["read", "versions"] as const) retryable(this.prototype[name]);
  }

  readonly #table = new OfferTable(this.ctx.storage.sql);

  /**
   * Returns what has changed after a version, in parts.
   * @param after version of the last change in the part before; 0 for all offers.
   * @param base number of the latest change at the time of the first part; `after` for the first part itself.
   */
  read(after: number, base: number): OfferChanges {
    const { revision, forgotten } = this.#totals();
    if (after > revision || (base > 0 && base < forgotten)) return { kind: "restart" };
    // What every isolate asks again and again needs no row of the tables.
    if (after === revision) return { kind: "changes", offers: [], revision, isMore: false };
    return { kind: "changes", ...this.#table.after(after, PART_CHARS), revision };
  }

  /** Returns the kept changes of an offer, newest first. */
  versions(name: string): readonly StoredOffer[] {
    // Before the first change there are no tables, and a question makes none.
    return this.#totals().revision === 0 ? [] : this.#table.versions(name);
  }

  /**
   * Creates, replaces or deletes an offer. The change is stored only if it was compared with the latest state of all
   * offers.
   */
  change({ name, content, by, revision }: OfferOrder): ChangeAnswer {
    const totals = this.#totals();
    if (totals.revision !== revision) return { kind: "moved" };
    const known = this.#table.find(name);
    if (known !== null && known.content === content) return { kind: "same", offer: known };
    const next = totalsAfter(totals, known, content);
    const isFuller = next.offers > totals.offers || next.bytes > totals.bytes;
    const isFull = next.offers > MAX_OFFERS || next.bytes > MAX_BOOK_BYTES;
    if (isFuller && isFull) return { kind: "full" };
    const changed = { content, changedAt: Date.now(), changedBy: by };
    const offer = { name, version: next.revision, ...changed };
    this.#store(offer, next);
    const isNew = content !== null && (known?.content ?? null) === null;
    return { kind: "changed", offer, isNew };
  }

  #store(offer: StoredOffer, totals: Totals): void {
    const { kv } = this.ctx.storage;
    this.ctx.storage.transactionSync(() => {
      this.#table.store(offer);
      const isOver = totals.deleted > MAX_DELETED;
      const forgotten = isOver ? this.#table.forgetOldestDeleted() : null;
      kv.put(
        TOTALS_KEY,
        forgotten === null ? totals : { ...totals, deleted: totals.deleted - 1, forgotten },
      );
    });
  }

  #totals(): Totals {
    return this.ctx.storage.kv.get<Totals>(TOTALS_KEY) ?? NOTHING;
  }
}

/** Returns the totals after a change of an offer. @param known the offer before it; null when it never existed. */
function totalsAfter(totals: Totals, known: StoredOffer | null, content: string | null): Totals {
  const before = known?.content ?? null;
  const wasDeleted = known !== null && before === null;
  return {
    ...totals,
    revision: totals.revision + 1,
    offers: totals.offers + countOf(content) - countOf(before),
    bytes: totals.bytes + bytesIn(content) - bytesIn(before),
    deleted: totals.deleted + (content === null ? 1 : 0) - (wasDeleted ? 1 : 0),
  };
}

function bytesIn(content: string | null): number {
  return content === null ? 0 : bytesOf(content).length;
}

function countOf(content: string | null): number {
  return content === null ? 0 : 1;
}

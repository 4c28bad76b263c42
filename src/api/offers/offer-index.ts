import { connectionFault, parseOffer } from "../../config/offers.ts";
import type { Runtime } from "../../config/runtime.ts";
import { parseJson } from "../../core/json.ts";
import type { OfferChanges, StoredOffer } from "../../core/offers/book-change.ts";
import {
  bookAfter,
  EMPTY_BOOK,
  type KnownOffer,
  type OfferBook,
} from "../../core/offers/offer-book.ts";
import { readingNeeded } from "../../core/freshness.ts";
import { OFFER_FRESHNESS } from "../../core/offers/offer-freshness.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { withinTime, withTimeout } from "../../lib/timeout.ts";
import { offerBook } from "../../objects/object-names.ts";
import { callObject, unavailable, unknownAnswer } from "../http/object-call.ts";
import type { Context } from "../operation.ts";

/** The parts of a request's context with which the offers of the relay are read: its bindings and its configuration. */
export type OfferContext = Pick<Context, "env" | "runtime">;

/** Longest time in milliseconds that a request waits for the offers. */
const READ_TIMEOUT_MS = 10 * SECOND_MS;
/** Age in milliseconds of a reading that counts as lost, because its request has ended before it. */
const LOST_AFTER_MS = 2 * READ_TIMEOUT_MS;
const UNREAD = "The relay could not read its offers.";

/** The stored offers in the memory of this isolate. */
class OfferIndex {
  #book: OfferBook | null = null;
  #readAt: number | null = null;
  #failedAt: number | null = null;
  /** The reading for which other requests may wait too, and when it began. Null when there is none. */
  #shared: { readonly ended: Promise<unknown>; readonly since: number } | null = null;

  /**
   * Returns the offers as they were at most a minute ago or, when they cannot be read, as they were read last.
   * @throws Problem `unavailable` when they were never read.
   */
  async current(context: OfferContext): Promise<OfferBook> {
    const times = { readAt: this.#readAt, failedAt: this.#failedAt };
    const need = readingNeeded(times, OFFER_FRESHNESS, Date.now());
    if (need !== "none") {
      const ended = this.#sharedReading(context);
      if (need === "wait") await withinTime(() => ended, null, READ_TIMEOUT_MS);
    }
    if (this.#book === null) throw unavailable(UNREAD, "offers_unread");
    return this.#book;
  }

  /** Reads what has changed, and returns the offers as they are now. @throws Problem when they cannot be read. */
  async latest(context: OfferContext): Promise<OfferBook> {
    const startedAt = Date.now();
    const { isWhole, changes, revision } = await readChanges(
      this.#book?.revision ?? 0,
      context.env,
    );
    const before = isWhole ? null : this.#book;
    const book = bookAfter(before ?? EMPTY_BOOK, changes, revision, (stored) =>
      knownOffer(stored, context.runtime),
    );
    this.#book = book;
    this.#readAt = startedAt;
    return book;
  }

  /** Returns the reading that is under way, or begins one, which goes on when its request has ended. It never throws. */
  #sharedReading(context: OfferContext): Promise<unknown> {
    const since = Date.now();
    if (this.#shared !== null && since - this.#shared.since < LOST_AFTER_MS) {
      return this.#shared.ended;
    }
    const ended = this.#readInTime(context);
    this.#shared = { ended, since };
    context.env.startup.waitUntil(ended);
    return ended;
  }

  /** Reads the offers, and notes a failure. It never throws. */
  async #readInTime(context: OfferContext): Promise<void> {
    const read = () => this.latest(context);
    const book = await withTimeout<OfferBook | null>("offers", read, null, READ_TIMEOUT_MS);
    if (book === null) this.#failedAt = Date.now();
    this.#shared = null;
  }
}

/** The stored offers that have changed since a revision of the offer book. */
interface ReadChanges {
  /** True when these are all stored offers, because the changes since the revision are not known any more. */
  readonly isWhole: boolean;
  readonly changes: readonly StoredOffer[];
  readonly revision: number;
}

/** Reads what has changed since a revision, part by part. @throws Problem when it cannot be read. */
async function readChanges(since: number, env: Env): Promise<ReadChanges> {
  const known = await readParts(since, env);
  if (known !== null) return { ...known, isWhole: false };
  const whole = await readParts(0, env);
  if (whole === null) throw unavailable(UNREAD, "offers_unread");
  return { ...whole, isWhole: true };
}

/** Reads what has changed since a revision. Null when this is not known any more. */
async function readParts(since: number, env: Env): Promise<Omit<ReadChanges, "isWhole"> | null> {
  const changes: StoredOffer[] = [];
  let [after, base] = [since, since];
  for (;;) {
    const answer = await callObject<OfferChanges>(() => offerBook(env).read(after, base));
    switch (answer.kind) {
      case "restart":
        return null;
      case "changes":
        changes.push(...answer.offers);
        if (!answer.isMore) return { changes, revision: answer.revision };
        after = answer.offers.at(-1)?.version ?? after;
        if (base === 0) base = answer.revision;
        continue;
      default:
        throw unknownAnswer(answer);
    }
  }
}

/** Reads a stored offer, and finds out whether jobs can be submitted by it. */
export function knownOffer(stored: StoredOffer, { config }: Runtime): KnownOffer {
  const { name, version, content } = stored;
  if (content === null) return { stored, offer: null, fault: null };
  const parsed = parseOffer(parseJson(content), name, version);
  if (!parsed.ok) {
    const [fault = { path: [], message: "cannot be read" }] = parsed.error;
    return { stored, offer: null, fault };
  }
  return { stored, offer: parsed.value, fault: connectionFault(parsed.value, config) };
}

const indexes = new WeakMap<Env["startup"], OfferIndex>();

/** Returns the offers in the memory of this isolate. */
export function offerIndex({ startup }: Env): OfferIndex {
  const known = indexes.get(startup);
  if (known !== undefined) return known;
  const index = new OfferIndex();
  indexes.set(startup, index);
  return index;
}

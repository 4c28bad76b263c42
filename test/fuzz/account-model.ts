import {
  charge,
  type Entry,
  grant,
  type Booking,
  type Posting,
  refund,
} from "../../src/core/ledger.ts";
import { NOW } from "../core/builders.ts";

interface State {
  generation: number | null;
  owner: string | null;
  readonly entries: (Entry & { readonly seq: number })[];
  readonly keys: { readonly id: string; readonly sha256: string }[];
}

/** One account, or the owner of one key, in memory: what `AccountObject` answers, over the same ledger. */
export class AccountModel {
  readonly state: State = { generation: null, owner: null, entries: [], keys: [] };

  create() {
    const isNew = this.state.generation === null;
    this.state.generation ??= 1;
    return { isNew, account: this.#described(this.state.generation) };
  }

  describe() {
    return this.state.generation === null ? null : this.#described(this.state.generation);
  }

  charge(order: Booking) {
    const { generation } = this.state;
    if (generation === null) return { kind: "unknown_account" };
    const posting = charge(this.#balance, this.#find("charge", order.reference), order);
    if (posting.kind === "refused") {
      return { kind: "insufficient", balance: this.#balance, price: order.amount };
    }
    this.#book(posting);
    return { kind: "charged", generation };
  }

  refund(reference: string): boolean {
    const known = this.#find("refund", reference);
    return this.#book(refund(this.#balance, this.#find("charge", reference), known));
  }

  grant(order: Booking) {
    if (this.state.generation === null) return null;
    const posting = grant(this.#balance, this.#find("grant", order.reference), order);
    if (posting.kind === "refused") {
      return { kind: posting.reason === "reference_reused" ? "reference_reused" : "too_large" };
    }
    this.#book(posting);
    return { kind: posting.kind === "book" ? "granted" : "repeated", balance: this.#balance };
  }

  entries(kind: string | null, before: number, limit: number) {
    if (this.state.generation === null) return null;
    const fitting = this.state.entries.filter(
      (entry) => entry.seq < before && (kind === null || entry.kind === kind),
    );
    return fitting
      .toReversed()
      .slice(0, limit)
      .map((entry) => ({ ...entry, taskId: null, createdAt: NOW }));
  }

  addKey(key: { readonly id: string }, sha256: string) {
    if (this.state.generation === null) return null;
    this.state.keys.push({ id: key.id, sha256 });
    return key;
  }

  keys() {
    if (this.state.generation === null) return null;
    const shown = { prefix: "trk_", label: null, createdAt: NOW, lastUsedDay: null };
    return this.state.keys.map(({ id }) => ({ id, ...shown }));
  }

  keyHash(id: string): string | null {
    return this.state.keys.find((key) => key.id === id)?.sha256 ?? null;
  }

  removeKey(id: string): void {
    const at = this.state.keys.findIndex((key) => key.id === id);
    if (at >= 0) this.state.keys.splice(at, 1);
  }

  verifyKey(sha256: string): boolean {
    return this.state.keys.some((key) => key.sha256 === sha256);
  }

  rotateSecret(seen: number | null) {
    const { generation } = this.state;
    if (generation !== null && (seen === null || seen === generation))
      this.state.generation = generation + 1;
    return this.describe();
  }

  claimKey(accountId: string): string {
    return (this.state.owner ??= accountId);
  }

  keyOwner(): string | null {
    return this.state.owner;
  }

  disownKey(accountId: string): void {
    if (this.state.owner === accountId) this.state.owner = null;
  }

  keyRefusedAt(): null {
    return null;
  }

  noteRefusedKey(): boolean {
    return false;
  }

  get #balance(): number {
    return this.state.entries.at(-1)?.balance ?? 0;
  }

  #described(generation: number) {
    return { generation, createdAt: NOW, balance: this.#balance };
  }

  #find(kind: string, reference: string): Entry | null {
    const isIt = (entry: Entry) => entry.kind === kind && entry.reference === reference;
    return this.state.entries.find(isIt) ?? null;
  }

  #book(posting: Posting): boolean {
    const seq = this.state.entries.length + 1;
    if (posting.kind === "book") this.state.entries.push({ ...posting.entry, seq });
    return posting.kind !== "refused";
  }
}

/** The object behind a binding: every call is a promise. */
export function remote(object: object): object {
  return new Proxy(object, {
    get:
      (_, name) =>
      async (...args: readonly unknown[]) => {
        const method: unknown = Reflect.get(object, name);
        if (typeof method !== "function") throw new Error(`there is no ${String(name)}`);
        const answer: unknown = Reflect.apply(method, object, structuredClone(args));
        return structuredClone(await answer);
      },
  });
}

import { vi } from "vitest";
import { NOW } from "../core/builders.ts";

/** What workerd has and Node has not, as far as the relay uses it. */
export function standIn(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  vi.spyOn(console, "log").mockImplementation(() => {});
  Reflect.set(globalThis, "Cloudflare", {
    compatibilityFlags: { global_fetch_strictly_public: true },
  });
  Reflect.set(crypto.subtle, "timingSafeEqual", isEqual);
  // A reader who waits takes no time.
  Reflect.set(globalThis, "scheduler", {
    wait: async (ms: number) => vi.setSystemTime(Date.now() + ms),
  });
}

export function resetClock(): void {
  vi.setSystemTime(NOW);
}

function isEqual(a: ArrayBuffer, b: ArrayBuffer): boolean {
  const others = new Uint8Array(b);
  return a.byteLength === b.byteLength && new Uint8Array(a).every((byte, i) => byte === others[i]);
}

/** The storage of one object: what is written stays, nothing else does. */
export class MemoryStorage {
  readonly values = new Map<string, unknown>();
  readonly kv = {
    get: (key: string): unknown => structuredClone(this.values.get(key)),
    put: (key: string, value: unknown): void => void this.values.set(key, structuredClone(value)),
  };

  async setAlarm(): Promise<void> {}

  async getAlarm(): Promise<null> {
    return null;
  }

  async deleteAll(): Promise<void> {
    this.values.clear();
  }
}

/** A database that takes everything and holds nothing. */
const statement = {
  bind: () => statement,
  run: async () => ({ results: [] }),
  all: async () => ({ results: [] }),
  first: async () => null,
};
export const EMPTY_DATABASE = {
  prepare: () => statement,
  batch: async (statements: readonly unknown[]) => statements.map(() => ({ results: [] })),
};

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll } from "vitest";
import { storedBytes } from "../../src/core/stored-bytes.ts";

/** Largest size of a key with its value in an object of Cloudflare, in bytes. */
const PLATFORM_LIMIT_BYTES = 2_000_000;
const LIMITED = Symbol("limited");

// Local workerd stores values of several megabytes. This change makes objects refuse the values that
// Cloudflare refuses; `test/core/stored-size.test.ts` compares `storedBytes` with V8.
beforeAll(() =>
  runInDurableObject(env.TASKS.getByName("storage-limit"), (_, { storage }) => {
    const kv: object = Object.getPrototypeOf(storage.kv);
    if (LIMITED in kv) return;
    // oxlint-disable-next-line unbound-method -- it is called with its `this`
    const { put } = storage.kv;
    Object.defineProperty(kv, LIMITED, { value: true });
    Object.defineProperty(kv, "put", {
      configurable: true,
      writable: true,
      value(this: SyncKvStorage, key: string, value: unknown) {
        const bytes = value instanceof Uint8Array ? value.length : storedBytes(value);
        if (key.length + bytes > PLATFORM_LIMIT_BYTES) {
          throw new Error("string or blob too big: SQLITE_TOOBIG");
        }
        put.call(this, key, value);
      },
    });
  }),
);

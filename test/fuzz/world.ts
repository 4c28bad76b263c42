import { TaskObject } from "../../src/task/task-object.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import { aCallback, ACCOUNT, aFinishedTask, anOpenTask, NOW, POLICY } from "../core/builders.ts";
import { aPricedRegistration } from "../core/credit-builders.ts";
import { anAttachedTask, aProvidedTask } from "../core/upstream-builders.ts";
import { AccountModel, remote } from "./account-model.ts";
import { EMPTY_DATABASE, MemoryStorage } from "./platform.ts";

export const OPERATOR_KEY = "test-only-operator-key";
export const ACCOUNT_KEY = "test-only-key-of-acme";
export const UNKNOWN_ID = "0199f3a2-ffff-4000-8000-000000000000";
const VARIABLES = {
  RELAY_SECRET: "test-only-relay-secret-0123456789abcdef",
  OPERATOR_KEYS: `${OPERATOR_KEY} test-only-older-operator-key`,
  MAX_BODY_KB: "8",
  SANDBOX: "true",
  ARK_API_KEY: "test-only-ark-key",
  FAL_USER_ID: "user-1",
  VIDU_API_KEY: "test-only-vidu-key",
  REPLICATE_WEBHOOK_SECRET: `whsec_${btoa("test-only-replicate-secret-0123")}`,
};

const charging = transition(null, aPricedRegistration(), POLICY, NOW);
const failure =
  '{"id":"x","status":"failed","error":{"code":"upstream_timeout","message":"Late."}}';
const PREPARED: readonly TaskRecord[] = [
  anOpenTask(),
  aProvidedTask(),
  anAttachedTask(),
  anOpenTask({ account: ACCOUNT, status: "processing", callbackUrl: null }),
  aFinishedTask({ account: ACCOUNT }),
  aFinishedTask({ status: "failed", body: failure, callback: null }),
  aFinishedTask({ callback: aCallback({ state: { kind: "due", nextAttemptAt: NOW + 60_000 } }) }),
  ...(charging.kind === "commit" ? [charging.record] : []),
];

/** Tasks in every state, by id. */
export const RECORDS: ReadonlyMap<string, TaskRecord> = new Map(
  PREPARED.map((record, i) => {
    const id = `0199f3a2-000${i}-4000-8000-000000000000`;
    return [id, { ...record, id }];
  }),
);
const KEY_HASH = hexOf(
  await crypto.subtle.digest("SHA-256", new TextEncoder().encode(ACCOUNT_KEY)),
);

/** All objects of a relay in memory, as they are before one request. */
export class World {
  readonly #storages = new Map<string, MemoryStorage>();
  readonly #accounts = new Map<string, AccountModel>();
  readonly #before = new Map<string, string>();
  readonly #background: Promise<unknown>[] = [];

  /** Names of the objects that were asked. */
  get reached(): readonly string[] {
    return [...this.#before.keys()];
  }

  /** Names of the objects whose storage is not what it was. */
  get changed(): readonly string[] {
    return this.reached.filter((name) => this.#stateOf(name) !== this.#before.get(name));
  }

  task(id: string, env: object): object {
    const name = `task ${id}`;
    const storage = this.#storages.get(name) ?? new MemoryStorage();
    this.#storages.set(name, storage);
    const record = RECORDS.get(id);
    if (!this.#before.has(name) && record !== undefined) storage.kv.put("task", record);
    this.#remember(name);
    const waitUntil = (work: Promise<unknown>) => void this.#background.push(work);
    const object: object = Reflect.construct(TaskObject, [
      { id: { name: id }, storage, waitUntil },
      env,
    ]);
    return remote(object);
  }

  account(name: string): object {
    const account = this.#accounts.get(name) ?? prepared(name);
    this.#accounts.set(name, account);
    this.#remember(`account ${name}`);
    return remote(account);
  }

  /** Lets all end that was left to run after an answer. */
  async settle(): Promise<void> {
    while (this.#background.length > 0) await Promise.all(this.#background.splice(0));
  }

  #remember(name: string): void {
    if (!this.#before.has(name)) this.#before.set(name, this.#stateOf(name));
  }

  #stateOf(name: string): string {
    const account = this.#accounts.get(name.replace(/^account /, ""));
    if (account !== undefined) return JSON.stringify(account.state);
    return JSON.stringify([...(this.#storages.get(name)?.values ?? [])]);
  }
}

/** One known account with credits and a key; no other is there. */
function prepared(name: string): AccountModel {
  const account = new AccountModel();
  if (name === `key:${KEY_HASH}`) account.claimKey(ACCOUNT.id);
  if (name !== ACCOUNT.id) return account;
  account.create();
  account.grant({ reference: "invoice-1", amount: 100 });
  account.addKey({ id: "key-1" }, KEY_HASH);
  return account;
}

let world = new World();
/** The bindings without and with an index; they lead to the world of the moment. */
export const ENVS: readonly object[] = [{}, { INDEX_DB: EMPTY_DATABASE }].map((index) => {
  const env: object = {
    ...VARIABLES,
    ...index,
    TASKS: { getByName: (id: string) => world.task(id, env) },
    ACCOUNTS: { getByName: (name: string) => world.account(name) },
  };
  return env;
});

export function newWorld(): World {
  world = new World();
  return world;
}

function hexOf(bytes: ArrayBuffer): string {
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

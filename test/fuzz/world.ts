import { AccountObject } from "../../src/objects/account/account-object.ts";
import { CallObject } from "../../src/objects/call/call-object.ts";
import { ConnectionObject } from "../../src/objects/connection/connection-object.ts";
import { DeploymentObject } from "../../src/objects/deployment-object.ts";
import { OfferBookObject } from "../../src/objects/offers/offer-book-object.ts";
import { QueueObject } from "../../src/objects/queue/queue-object.ts";
import { OutputObject } from "../../src/objects/output/output-object.ts";
import { DigestObject } from "../../src/objects/digest-object.ts";
import { JobObject } from "../../src/objects/job-object.ts";
import { HostObject } from "../../src/objects/host-object.ts";
import { ListenersObject } from "../../src/objects/listeners/listeners-object.ts";
import type { ObjectBinding } from "../../src/config/object-bindings.ts";
import { withStartup, type WithStartup } from "../../src/config/runtime.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCallback,
  ACCOUNT,
  DAY,
  aFinishedTask,
  anOpenTask,
  NOW,
  POLICY,
} from "../core/builders.ts";
import { aPricedRegistration } from "../core/credit-builders.ts";
import { anAttachedTask, aProvidedTask } from "../core/upstream-builders.ts";
import { EMPTY_DATABASE, MemoryStorage, stubOf } from "./storage.ts";

export const OPERATOR_KEY = "test-only-operator-key";
export const ACCOUNT_KEY = "test-only-key-of-acme";
export const UNKNOWN_ID = "0199f3a2-ffff-4000-8000-000000000000";
const VARIABLES = {
  RELAY_SECRET: "test-only-relay-secret-0123456789abcdef",
  OPERATOR_KEYS: `${OPERATOR_KEY} test-only-older-operator-key`,
  MAX_BODY_KB: "8",
  SANDBOX: "true",
  PUBLIC_URL: "https://relay.example.com",
  ARK_API_KEY: "test-only-ark-key",
  FAL_USER_ID: "user-1",
  VIDU_API_KEY: "test-only-vidu-key",
  REPLICATE_WEBHOOK_SECRET: `whsec_${btoa("test-only-replicate-secret-0123")}`,
};

const FLAGS = {
  global_fetch_strictly_public: true,
  durable_object_io_tasks_prevent_eviction: true,
};

const charging = transition(null, aPricedRegistration(), POLICY, NOW);
const failure =
  '{"id":"0199f3a2-0005-4000-8000-000000000000","status":"failed","model":"m","created_at":1767225600,"error":{"code":"upstream_timeout","message":"Late."}}';
const PREPARED: readonly TaskRecord[] = [
  anOpenTask(),
  aProvidedTask(),
  anAttachedTask(),
  anOpenTask({ account: ACCOUNT, status: "processing", callbackUrl: null }),
  aFinishedTask({ account: ACCOUNT }),
  aFinishedTask({ status: "failed", body: failure, callback: null }),
  aFinishedTask({ callback: aCallback({ state: { kind: "due", nextAttemptAt: NOW + 60_000 } }) }),
  ...(charging.kind === "changed" ? [charging.record] : []),
];

/** Tasks by id, one in each state. */
export const RECORDS: ReadonlyMap<string, TaskRecord> = new Map(
  PREPARED.map((record, i) => {
    const id = `0199f3a2-000${i}-4000-8000-000000000000`;
    return [id, { ...record, id }];
  }),
);
const KEY_HASH = hexOf(
  await crypto.subtle.digest("SHA-256", new TextEncoder().encode(ACCOUNT_KEY)),
);

/** The classes of objects besides those of tasks and accounts, by their bindings. */
export const OTHER_CLASSES = {
  LISTENERS: ListenersObject,
  CONNECTION_OBJECTS: ConnectionObject,
  HOSTS: HostObject,
  DIGESTS: DigestObject,
  JOBS: JobObject,
  CALLS: CallObject,
  QUEUES: QueueObject,
  OFFER_BOOK: OfferBookObject,
  DEPLOYMENT: DeploymentObject,
  OUTPUT_OBJECTS: OutputObject,
} as const satisfies Partial<Record<ObjectBinding, unknown>>;

type ObjectClass<T> = new (ctx: DurableObjectState, env: never) => T;

/** The objects of a relay, in memory, in the state before a request. */
export class World {
  readonly #storages = new Map<string, MemoryStorage>();
  readonly #before = new Map<string, string>();
  readonly #background: Promise<unknown>[] = [];

  /** Names of the objects that were called. */
  get reached(): readonly string[] {
    return [...this.#before.keys()];
  }

  /** Names of the objects whose storage has changed. */
  get changed(): readonly string[] {
    const isChanged = (name: string) =>
      this.#storages.get(name)?.content !== this.#before.get(name);
    return this.reached.filter(isChanged);
  }

  task(id: string, env: object): object {
    return this.#object(TaskObject, `task ${id}`, id, env, (storage) => {
      const record = RECORDS.get(id);
      if (record !== undefined) storage.kv.put("task", record);
    });
  }

  account(name: string, env: object): object {
    return this.#object(AccountObject, `account ${name}`, name, env, (_storage, create) =>
      prepareAccount(name, create),
    );
  }

  /** Changes what the object of the known account stores, as a defect of the relay would. */
  damage(env: object): void {
    this.account(ACCOUNT.id, env);
    this.#storages.get(`account ${ACCOUNT.id}`)?.kv.put("planted", true);
  }

  /** Returns an object of a class whose objects have stored nothing before the request. */
  other(type: ObjectClass<object>, name: string, env: object): object {
    return this.#object(type, `${type.name} ${name}`, name, env, () => undefined);
  }

  /** Waits until the work that continues after an answer has ended. */
  async settle(): Promise<void> {
    while (this.#background.length > 0) await Promise.all(this.#background.splice(0));
  }

  #object<T extends object>(
    type: ObjectClass<T>,
    key: string,
    name: string,
    env: object,
    prepare: (storage: MemoryStorage, create: () => T) => void,
  ): object {
    const storage = this.#storages.get(key) ?? new MemoryStorage();
    const waitUntil = (work: Promise<unknown>) => void this.#background.push(work);
    const create = (): T =>
      Reflect.construct(type, [{ id: { name }, storage, waitUntil, getWebSockets: () => [] }, env]);
    if (!this.#storages.has(key)) {
      this.#storages.set(key, storage);
      prepare(storage, create);
      this.#before.set(key, storage.content);
    }
    return stubOf(create());
  }
}

/** Prepares the one known account, which has credits and a key: its two objects, and the claim to the key. */
function prepareAccount(name: string, create: () => AccountObject): void {
  const object = create();
  if (name === `keys:${KEY_HASH.slice(0, 1)}`) {
    object.claimKeyHash(KEY_HASH, { accountId: ACCOUNT.id, role: "full" });
    // The first use of a key on a day stores the day.
    object.useKeyHash(KEY_HASH, Math.floor(Date.now() / DAY));
  } else if (name === `account-keys:${ACCOUNT.id}`) {
    const shown = {
      id: "key-1",
      sha256: KEY_HASH,
      prefix: "trk_",
      label: null,
      role: "full",
    } as const;
    object.createProfile({ generation: ACCOUNT.generation, createdAt: NOW, deletedAt: null });
    object.addListedKey({ ...shown, createdAt: NOW, lastUsedDay: null });
  } else if (name === ACCOUNT.id) {
    object.create();
    object.grant({ reference: "invoice-1", amount: 100 });
  }
}

let world = new World();
/** The environment without and with an index; its bindings lead to the current world. */
export const ENVS: readonly WithStartup[] = await Promise.all(
  [{}, { INDEX_DB: EMPTY_DATABASE }].map(async (index) => {
    const bindings = {
      ...VARIABLES,
      ...index,
      TASKS: { getByName: (id: string) => world.task(id, env) },
      ACCOUNTS: { getByName: (name: string) => world.account(name, env) },
      ...Object.fromEntries(
        Object.entries(OTHER_CLASSES).map(([binding, type]) => {
          return [binding, { getByName: (name: string) => world.other(type, name, env) }];
        }),
      ),
    };
    const env: WithStartup = await withStartup(bindings, FLAGS, (work) => void work);
    return env;
  }),
);

export function newWorld(): World {
  world = new World();
  return world;
}

export function currentWorld(): World {
  return world;
}

function hexOf(bytes: ArrayBuffer): string {
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

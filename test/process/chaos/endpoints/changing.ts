import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import * as z from "zod";
import { Random } from "../../../simulation/random.ts";
import type { Receiver } from "../../harness/receiver.ts";
import type { Caller } from "../caller.ts";
import type { EndpointChange, EndpointState, SignerName } from "./endpoint-history.ts";
import { TOKEN_START } from "./judge.ts";
import { type ChangePlan, changePlan, NAMES, type Owner, OWNERS } from "./plan.ts";
import { endpointKey } from "./recording.ts";

const Secrets = z.object({
  generation: z.int().default(0),
  callbacks: z.array(z.string()).min(1),
});

/** A secret and its name. */
export interface Signer {
  readonly name: SignerName;
  readonly webhook: Webhook;
}

/** The operator, who changes endpoints, and records each change with the time at which it was made. */
export class Changer {
  readonly changes = new Map<string, EndpointChange[]>();
  /** Secrets that sign for an owner, and those of its endpoints. */
  readonly signers = new Map<Owner, Signer[]>();
  readonly #caller: Caller;
  readonly #hosts: readonly Receiver[];
  readonly #randoms = new Map<Owner, Random>();
  /** Number of the URLs that were given to endpoints. */
  #urls = 0;

  private constructor(caller: Caller, hosts: readonly Receiver[]) {
    this.#caller = caller;
    this.#hosts = hosts;
  }

  /** Reads the secrets of the owners, and creates the endpoints of each. */
  static async start(caller: Caller, hosts: readonly Receiver[], seed: number): Promise<Changer> {
    const changer = new Changer(caller, hosts);
    for (const [i, owner] of OWNERS.entries()) {
      const random = new Random(seed * OWNERS.length + i);
      changer.#randoms.set(owner, random);
      const { json } = await caller.ask({ method: "GET", path: secretsPath(baseOf(owner)) }, [200]);
      changer.#note(owner, owner ?? "relay", json);
      for (const name of NAMES) {
        await changer.#change(owner, { ...changePlan(random, hosts.length), kind: "put", name });
      }
    }
    return changer;
  }

  /** Changes the endpoints of an owner, one after the other, until the load is over. */
  async changeUntil(isOver: () => boolean, owner: Owner): Promise<void> {
    while (!isOver()) {
      const plan = changePlan(this.#randomOf(owner), this.#hosts.length);
      await sleep(plan.pauseMs);
      await this.#change(owner, plan);
    }
  }

  #randomOf(owner: Owner): Random {
    const random = this.#randoms.get(owner);
    if (random === undefined) throw new Error(`${owner ?? "the relay"} owns no endpoints`);
    return random;
  }

  async #change(owner: Owner, plan: ChangePlan): Promise<void> {
    const key = endpointKey(owner, plan.name);
    const changes = this.changes.get(key) ?? [];
    this.changes.set(key, changes);
    const present = changes.at(-1)?.state ?? null;
    const path = `${baseOf(owner)}/endpoints/${plan.name}`;
    const sentAt = Date.now();
    const state = await this.#changed(owner, path, present, plan);
    changes.push({ state, sentAt, answeredAt: Date.now() });
  }

  /** @returns the endpoint after the change. Null when it was deleted. */
  async #changed(
    owner: Owner,
    path: string,
    present: EndpointState | null,
    plan: ChangePlan,
  ): Promise<EndpointState | null> {
    if (plan.kind === "delete" && present !== null) {
      await this.#caller.ask({ method: "DELETE", path }, [204]);
      return null;
    }
    const generation = present?.signer.generation ?? 0;
    if (plan.kind === "rotate" && present !== null && generation > 0) {
      const body = { generation };
      const call = { method: "POST", path: secretsPath(path), body };
      const { json } = await this.#caller.ask(call, [200]);
      return { ...present, signer: this.#note(owner, present.signer.chain, json) };
    }
    return this.#put(owner, path, present, plan);
  }

  async #put(
    owner: Owner,
    path: string,
    present: EndpointState | null,
    { host, hasHeader, scheduleS, events, hasOwnSecret, answers }: ChangePlan,
  ): Promise<EndpointState> {
    this.#urls += 1;
    const url = this.#hosts[host]?.at(`/${this.#urls}`, ...answers) ?? "";
    const token = hasHeader ? `${TOKEN_START}${this.#randomOf(owner).next()}` : null;
    const headers = token === null ? {} : { "X-Endpoint-Token": token };
    const waits = scheduleS === null ? {} : { schedule_s: scheduleS };
    const body = { url, headers, ...waits, events, own_secret: hasOwnSecret };
    const isThere = present !== null;
    await this.#caller.ask({ method: "PUT", path, body }, [isThere ? 200 : 201], [200]);
    const signer = hasOwnSecret
      ? await this.#ownSigner(owner, path, present)
      : { chain: owner ?? "relay", generation: 0 };
    return { url, token, scheduleS, events, signer };
  }

  /** Returns the secret of an endpoint, which keeps the one that it had. */
  async #ownSigner(owner: Owner, path: string, present: EndpointState | null): Promise<SignerName> {
    const { json } = await this.#caller.ask({ method: "GET", path: secretsPath(path) }, [200]);
    const isKept = present !== null && present.signer.generation > 0;
    const chain = isKept ? present.signer.chain : `${path} ${this.#urls}`;
    return this.#note(owner, chain, json);
  }

  /** Records the newest of the secrets that the relay has shown. @returns its name. */
  #note(owner: Owner, chain: string, shown: unknown): SignerName {
    const { generation, callbacks } = Secrets.parse(shown);
    const isOwn = chain !== (owner ?? "relay");
    const name = { chain, generation: isOwn ? generation : 0 };
    const known = this.signers.get(owner) ?? [];
    this.signers.set(owner, [...known, { name, webhook: new Webhook(callbacks[0] ?? "") }]);
    return name;
  }
}

function baseOf(owner: Owner): string {
  return owner === null ? "/v1" : `/v1/accounts/${owner}`;
}

function secretsPath(base: string): string {
  return `${base}/signing-secrets`;
}

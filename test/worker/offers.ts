import { env } from "cloudflare:workers";
import * as z from "zod";
import { aKey, anAccount } from "./accounts.ts";
import { callWith, type Message } from "./client.ts";
import { ARK_PATH, BINDINGS, submit } from "./submitted.ts";

/** An offer of all models at Ark for 60 credits. */
export const OFFER = {
  connection: "ark",
  path: ARK_PATH,
  models: ["doubao-seedance-*"],
  price: { credits: 60 },
};

/** What the object with the offers does instead of answering a call. Absent methods answer. */
type Methods = Readonly<Record<string, () => Promise<never>>>;

/** Returns the bindings of a relay with offers of its own, a list of the calls that reach them, and their object. */
export function aBook(vars: object = {}, methods: () => Methods = () => ({})) {
  const stub = env.OFFER_BOOK.getByName(crypto.randomUUID());
  const calls: string[] = [];
  const book = new Proxy(stub, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return (...given: unknown[]) => {
        calls.push(String(name));
        const instead = methods()[String(name)];
        return instead === undefined ? Reflect.apply(method, target, given) : instead();
      };
    },
  });
  return { bindings: { ...BINDINGS, ...vars, OFFER_BOOK: { getByName: () => book } }, calls, stub };
}

/** Stores an offer as the operator. */
export async function putOffer(
  bindings: object,
  name: string,
  body: object = OFFER,
  message: Message = {},
): Promise<Response> {
  return callWith(bindings, `/v1/offers/${name}`, { method: "PUT", body, ...message });
}

/** Schema of what tests read of the answer to a change of an offer. */
export const Changed = z.looseObject({
  name: z.string(),
  version: z.int(),
  offer: z.looseObject({ price: z.unknown() }),
});

/** Stores an offer with this price, and returns its version. */
export async function offerFor(bindings: object, name: string, credits: number, more: object = {}) {
  const answer = await putOffer(bindings, name, { ...OFFER, ...more, price: { credits } });
  return Changed.parse(await answer.json()).version;
}

/** Creates an account with credits, and returns a function that submits as the account. */
export async function aCustomer(credits = 10_000) {
  const account = await anAccount(credits);
  const { key } = await aKey(account);
  const submits = (bindings: object, submission: Parameters<typeof submit>[0] = {}) => {
    const headers = { "Idempotency-Key": crypto.randomUUID(), ...submission.headers };
    return submit({ ...submission, bindings, key, headers });
  };
  return { account, key, submits };
}

const Priced = z.looseObject({
  credits: z.looseObject({ amount: z.int() }).optional(),
  submission: z.looseObject({
    offer: z.strictObject({ name: z.string(), version: z.int().optional() }).optional(),
  }),
});

/** Reads, as the operator, what a task costs and by which version of which offer. */
export async function pricedBy(bindings: object, response: Response) {
  const id = response.headers.get("Relay-Task-Id") ?? "";
  const { credits, submission } = Priced.parse(
    await (await callWith(bindings, `/v1/tasks/${id}`)).json(),
  );
  return { credits: credits?.amount ?? 0, ...submission.offer };
}

import type { AccountObject } from "../src/objects/account/account-object.ts";

export { AccountObject } from "../src/objects/account/account-object.ts";
// Classes of objects that the harness binds; nothing calls them.
export * from "./startup/bare-worker.ts";

type Account = DurableObjectStub<AccountObject>;

const PRICE = 3;
const GRANTED = 1_000_000_000;
/** Name of an API key without a label; all such names have this length. */
const KEY_NAME = "5e884898";
const MODEL = "doubao-seedance-2-0-260128";

/**
 * Worker that charges and refunds one account, `concurrency` pairs at a time, until `pairs` are done or `ms`
 * milliseconds have passed. Answers with the number of pairs done.
 */
export default {
  async fetch(request: Request, env: { readonly ACCOUNTS: DurableObjectNamespace<AccountObject> }) {
    const { searchParams } = new URL(request.url);
    const limit = (name: string) => Number(searchParams.get(name) ?? Number.POSITIVE_INFINITY);
    const account = env.ACCOUNTS.getByName(searchParams.get("account") ?? "bench");
    await account.create();
    await account.grant({ reference: "opening", amount: GRANTED });
    const stopAt = Date.now() + limit("ms");
    let [started, done] = [0, 0];
    const worker = async () => {
      while (started++ < limit("pairs") && Date.now() < stopAt) {
        await chargeAndRefund(account);
        done++;
      }
    };
    const concurrency = searchParams.has("concurrency") ? limit("concurrency") : 0;
    await Promise.all(Array.from({ length: concurrency }, worker));
    return Response.json({ pairs: done });
  },
};

/** Makes the two calls that a failed task makes to the ledger of its account: a charge and a refund. */
async function chargeAndRefund(account: Account): Promise<void> {
  const [taskId, reference] = [crypto.randomUUID(), crypto.randomUUID()];
  const notAfter = Date.now() + 2_000;
  const order = { reference, amount: PRICE };
  const charged = await account.charge(order, taskId, notAfter, KEY_NAME, MODEL);
  if (charged.kind !== "charged") throw new Error(`the charge was answered with ${charged.kind}`);
  if (!(await account.refund(reference, taskId))) throw new Error("the charge was not refunded");
}

import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount } from "../worker/accounts.ts";
import { call, post } from "../worker/client.ts";
import { START_S, useClock } from "../worker/clock.ts";
import { aReceiver, requestAt } from "../worker/receiver.ts";
import { completed } from "../worker/tasks.ts";

useClock();

const Secrets = z.looseObject({ callbacks: z.array(z.string()) });

/** Completes a task, and returns what its receiver got, signed with the secret of an account in place of its own. */
async function signedBy(account: string, fields: object) {
  const received = aReceiver();
  const id = await completed(fields);
  const { headers, body } = requestAt(received, 0);
  const answer = await call(`/v1/accounts/${account}/signing-secrets`);
  const [secret = ""] = Secrets.parse(await answer.json()).callbacks;
  const signature = new Webhook(secret).sign(`msg_${id}`, new Date(START_S * 1000), body);
  return { id, received: { headers: { ...headers, "webhook-signature": signature }, body } };
}

it("POST /v1/tasks/{id}/verify tells an operator which other account's secret has signed the callback of a task without an account", async () => {
  const globex = await anAccount();
  const { id, received } = await signedBy(globex, {});
  expect(await (await post(`/v1/tasks/${id}/verify`, received)).json()).toMatchObject({
    verdict: "invalid",
    faults: [
      {
        code: "wrong_secret",
        message: `No signature of the header was made with a secret of the relay itself, which signs callbacks of tasks without an account, but with secret no. 1 of the account ${globex}.`,
      },
    ],
  });
});

it("POST /v1/tasks/{id}/verify tells an account only that the secret is not its own, and not which account's it is", async () => {
  const [acme, globex] = [await anAccount(), await anAccount()];
  const { key } = await aKey(acme);
  const { id, received } = await signedBy(globex, { account: acme });
  const verify = (by: object) => post(`/v1/tasks/${id}/verify`, received, by);
  const asOperator = await (await verify({})).text();
  expect(asOperator).toContain(`but with secret no. 1 of the account ${globex}.`);
  const asAccount = await (await verify({ key })).text();
  expect(asAccount).toContain(`a secret of the account ${acme}, which signs`);
  expect(asAccount).not.toContain(globex);
});

import type { Runtime } from "../../config/runtime.ts";
import type { Account } from "../../core/record/task.ts";
import { accountSecrets, publicWhpk } from "../../security/keyring.ts";
import { callProfile, forgetAccount, requireAccount } from "./account-client.ts";
import { ledgerObject } from "../../objects/object-names.ts";
import { callObject } from "../http/object-call.ts";
import { log } from "../../lib/log.ts";
import { keyNameOf } from "../../objects/task/caller.ts";
import { json } from "../http/answer.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { Rotation } from "./account-schemas.ts";

/**
 * Reads the secrets with which the callbacks of an account are signed.
 * @throws Problem `not_found` when the account does not exist or was deleted.
 */
export const readAccountSecrets = operation(
  "readAccountSecrets",
  { access: "secrets", params: ["account"], query: NoQuery, body: NoBody },
  async ({ env, runtime, params: { account } }) =>
    await secretsView(runtime, await requireAccount(env, account)),
);

export const readAccountSecretsRoute = routeOf(
  { method: "GET", path: "/v1/accounts/{account}/signing-secrets" },
  readAccountSecrets,
  (secrets) => json(secrets),
);

/**
 * Creates a new secret with which the callbacks of an account are signed. A request may state the number of the
 * generation that it replaces; if this is not the current one, nothing changes.
 */
export const rotateAccountSecrets = operation(
  "rotateAccountSecrets",
  { access: "administer", params: ["account"], query: NoQuery, body: Rotation },
  async ({ env, runtime, params, caller, body }) => {
    const { account: id } = params;
    const { generation } = await callProfile(env, id, (object) =>
      object.rotateSecret(body.generation),
    );
    // If this call fails, repeating the request makes it again.
    await callObject(() => ledgerObject(env, id).noteGeneration(generation));
    forgetAccount(id);
    log({ event: "secret.rotate", account: id, generation, by: keyNameOf(caller) });
    return await secretsView(runtime, { id, generation });
  },
);

export const rotateAccountSecretsRoute = routeOf(
  { method: "POST", path: "/v1/accounts/{account}/signing-secrets" },
  rotateAccountSecrets,
  (secrets) => json(secrets),
);

/** Secrets with which the callbacks of an account are signed, newest first, as the API returns them. */
export type CallbackSecrets = Awaited<ReturnType<typeof secretsView>>;

async function secretsView({ config, keyring }: Runtime, account: Account) {
  const { generation } = account;
  const secrets = await accountSecrets(config, account, [generation, generation - 1]);
  return {
    generation,
    callbacks: secrets.map(({ text }) => text),
    public_keys: keyring.signingKeys.map(publicWhpk),
  };
}

import type { Runtime } from "../../config/runtime.ts";
import type { Account } from "../../core/record/task.ts";
import { accountSecrets, publicWhpk } from "../../security/keyring.ts";
import { callProfile, forgetAccount, requireAccount } from "./account-client.ts";
import { ledgerObject } from "../../account/object-names.ts";
import { callObject } from "../http/object-call.ts";
import { log } from "../../log.ts";
import { keyNameOf } from "../../task-object/caller.ts";
import { json } from "../http/answer.ts";
import { bodyRoute, route } from "../http/route.ts";
import { Rotation } from "./account-schemas.ts";

export const readAccountSecrets = route(
  {
    id: "readAccountSecrets",
    method: "GET",
    path: "/v1/accounts/{account}/signing-secrets",
    access: "secrets",
  },
  async ({ env, runtime, params }) => {
    return secretsAnswer(runtime, await requireAccount(env, params.account));
  },
);

export const rotateAccountSecrets = bodyRoute(
  {
    id: "rotateAccountSecrets",
    method: "POST",
    path: "/v1/accounts/{account}/signing-secrets",
    access: "administer",
  },
  Rotation,
  async ({ env, runtime, params, caller, body }) => {
    const { account: id } = params;
    const { generation } = await callProfile(env, id, (object) =>
      object.rotateSecret(body.generation),
    );
    // If this call fails, repeating the request makes it again.
    await callObject(() => ledgerObject(env, id).noteGeneration(generation));
    forgetAccount(id);
    log({ event: "secret.rotate", account: id, generation, by: keyNameOf(caller) });
    return secretsAnswer(runtime, { id, generation });
  },
);

async function secretsAnswer(runtime: Runtime, account: Account): Promise<Response> {
  const { generation } = account;
  const current = generation > 1 ? [generation, generation - 1] : [generation];
  const secrets = await accountSecrets(runtime.config, account, current);
  const body = {
    generation,
    callbacks: secrets.map(({ text }) => text),
    public_keys: runtime.keyring.signingKeys.map(publicWhpk),
  };
  return json(body);
}

import type { Runtime } from "../../config/runtime.ts";
import type { Account } from "../../core/record/task.ts";
import { accountSecrets, publicWhpk } from "../../security/keyring.ts";
import { callAccount, forgetAccount } from "./account-client.ts";
import { json } from "../http/answer.ts";
import { bodyRoute, route } from "../http/route.ts";
import { Rotation } from "./account-schemas.ts";

export const readAccountSecrets = route(
  {
    method: "GET",
    path: "/v1/accounts/{account}/signing-secrets",
    access: "owner",
    summary: "Read the secrets that the account's receivers verify callbacks with",
    answers: { 200: "the secrets, newest first" },
    errors: ["not_found"],
  },
  async ({ env, runtime, params }) => {
    const { generation } = await callAccount(env, params.account, (object) => object.describe());
    return secretsAnswer(runtime, { id: params.account, generation });
  },
);

export const rotateAccountSecrets = bodyRoute(
  {
    method: "POST",
    path: "/v1/accounts/{account}/signing-secrets",
    access: "operator",
    summary: "Create a new callback secret; callbacks are still signed with the previous one too",
    answers: { 200: "the secrets, newest first" },
    errors: ["not_found"],
  },
  Rotation,
  async ({ env, runtime, params, body }) => {
    const { generation } = await callAccount(env, params.account, (object) =>
      object.rotateSecret(body.generation),
    );
    forgetAccount(params.account);
    return secretsAnswer(runtime, { id: params.account, generation });
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

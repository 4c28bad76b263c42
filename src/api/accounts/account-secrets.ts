import { accountSecrets, publicWhpk } from "../../security/keyring.ts";
import { askAccount, forgetAccount } from "./account-client.ts";
import { json } from "../http/answer.ts";
import { bodyRoute, type AuthenticatedRequest, route } from "../http/route.ts";
import { Rotation } from "./account-schemas.ts";

export const readAccountSecrets = route(
  {
    method: "GET",
    path: "/v1/accounts/{account}/signing-secrets",
    access: "owner",
    summary: "What the account's receivers verify callbacks with",
    answers: { 200: "the secrets, newest first" },
    errors: ["not_found"],
  },
  async (call) => {
    const { env, accountId } = call;
    const account = await askAccount(env, accountId, (object) => object.describe());
    return secretsAnswer(call, account.generation);
  },
);

export const rotateAccountSecrets = bodyRoute(
  {
    method: "POST",
    path: "/v1/accounts/{account}/signing-secrets",
    access: "operator",
    summary: "Make a new callback secret; callbacks stay signed with the one before, too",
    answers: { 200: "the secrets, newest first" },
    errors: ["not_found"],
  },
  Rotation,
  async (call) => {
    const { env, accountId, body } = call;
    const account = await askAccount(env, accountId, (object) =>
      object.rotateSecret(body.generation),
    );
    forgetAccount(accountId);
    return secretsAnswer(call, account.generation);
  },
);

async function secretsAnswer(
  { runtime, accountId }: AuthenticatedRequest<unknown>,
  generation: number,
): Promise<Response> {
  const account = { id: accountId, generation };
  const current = generation > 1 ? [generation, generation - 1] : [generation];
  const secrets = await accountSecrets(runtime.config, account, current);
  const body = {
    generation,
    callbacks: secrets.map(({ text }) => text),
    public_keys: runtime.keyring.signingKeys.map(publicWhpk),
  };
  return json(body, 200, { "Cache-Control": "no-store" });
}

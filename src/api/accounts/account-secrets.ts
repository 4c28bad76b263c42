import { accountSecrets, publicWhpk } from "../../callback/keyring.ts";
import { askAccount, forgetAccount } from "./account-client.ts";
import { json } from "../answer.ts";
import { bodyRoute, type KnownCall, route } from "../route.ts";
import { Rotation } from "./account-schemas.ts";

export const readAccountSecrets = route(
  {
    method: "GET",
    path: "/v1/accounts/{account}/signing-secrets",
    who: "owner",
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
    who: "operator",
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
  { relay, accountId }: KnownCall<unknown>,
  generation: number,
): Promise<Response> {
  const account = { id: accountId, generation };
  const current = generation > 1 ? [generation, generation - 1] : [generation];
  const secrets = await accountSecrets(relay.config, account, current);
  const body = {
    generation,
    callbacks: secrets.map(({ text }) => text),
    public_keys: relay.keyring.signingKeys.map(publicWhpk),
  };
  return json(body, 200, { "Cache-Control": "no-store" });
}

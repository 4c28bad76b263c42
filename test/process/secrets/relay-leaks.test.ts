import { describe, expect, it } from "vitest";
import * as z from "zod";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { derived, hookToken, publicHalf, whsec } from "./derived.ts";
import { type Answer, exercise } from "./exercise.ts";
import {
  CONFIGURED,
  EVENTS,
  finds,
  FOR_OPERATORS,
  INVALID,
  JWK,
  OPERATOR_KEYS,
  OPERATOR_URL_TOKEN,
  RELAY_SECRETS,
  type Secret,
  secretsOf,
  SETTLEMENT_TOKEN,
  UPSTREAM_KEY,
  WEBHOOK_SECRET,
} from "./values.ts";

const ACCEPTS = { kind: "answer", status: 204 } as const;

const receiver = await forThisFile(Receiver.start());
const entry = { provider: "replicate", key: UPSTREAM_KEY, webhook_secret: WEBHOOK_SECRET };
const vars = {
  RELAY_SECRET: RELAY_SECRETS.join(" "),
  OPERATOR_KEYS: OPERATOR_KEYS.join(" all:older="),
  CONNECTIONS: JSON.stringify({ rep: { ...entry, base_url: receiver.origin } }),
  SETTLEMENT_URL: receiver.at(`/settlement?t=${SETTLEMENT_TOKEN}`, ACCEPTS),
  OPERATOR_CALLBACK_URL: receiver.at(`/operator?t=${OPERATOR_URL_TOKEN}`, ACCEPTS),
  ALLOW_LOCAL_CALLBACKS: "true",
  CALLBACK_SCHEDULE_S: "0,1",
  LOG: "all",
};
const relay = await forThisFile(Workerd.start({ vars }));
const withDerived = await exercise(relay.url, receiver);
await relay.restart({ ...vars, ...CONFIGURED, SIGNING_KEYS: JSON.stringify(JWK) });
const withConfigured = await exercise(relay.url, receiver);
const complaints = await complaintsAboutInvalid();

/** Starts the relay with each invalid value, and returns its answers. */
async function complaintsAboutInvalid() {
  const texts: string[] = [];
  for (const [name, value] of INVALID) {
    await relay.restart({ ...vars, [name]: value });
    const headers = { Authorization: `Bearer ${OPERATOR_KEYS[0]}` };
    for (const path of ["/healthz", "/v1/signing-secrets"]) {
      const response = await fetch(`${relay.url}${path}`, { headers });
      const text = await response.text();
      expect({ name, status: response.status, text }).toEqual({
        name,
        status: 503,
        text: expect.stringContaining(name),
      });
      texts.push(text);
    }
  }
  return texts;
}

/** Finds secrets in texts, except in those that contain them on purpose. */
function leaksIn(
  secrets: readonly Secret[],
  texts: readonly { readonly route: string; readonly text: string }[],
): readonly string[] {
  return secrets.flatMap((secret) =>
    texts
      .filter(({ route }) => secret.givenBy?.test(route) !== true)
      .filter(({ text }) => finds(secret, text))
      .map(({ route }) => `${secret.what} in ${route}`),
  );
}

describe.each([
  ["derived from RELAY_SECRET", withDerived],
  ["configured one by one", withConfigured],
])("a relay whose secrets are %s", (origin, exercised) => {
  it(`a relay whose secrets are ${origin} returns its secrets from the routes that exist for this, and from no other`, () => {
    expect(leaksIn(secretsOf(exercised), exercised.answers)).toEqual([]);
  });

  it(`a relay whose secrets are ${origin} writes none of its secrets to its log`, () => {
    const log = { route: "the log", text: relay.output };
    const everywhere = secretsOf(exercised).map((secret) => ({ ...secret, givenBy: null }));
    expect(leaksIn(everywhere, [log])).toEqual([]);
  });

  it(`a relay whose secrets are ${origin} sends none of its secrets to callback receivers, SETTLEMENT_URL or OPERATOR_CALLBACK_URL`, () => {
    const sent = receiver.posts
      .filter(({ path }) => !path.startsWith("/v1/predictions"))
      .map(({ path, headers, body }) => ({
        route: `sent ${path.split("?")[0]}`,
        text: JSON.stringify(headers) + body,
      }));
    const routes = new Set(sent.map(({ route }) => route));
    expect([...routes].toSorted()).toEqual(
      ["endpoint", "first", "operator", "own", "second", "settlement", "test"].map(
        (path) => `sent /${path}`,
      ),
    );
    expect(leaksIn(secretsOf(exercised), sent)).toEqual([]);
  });
});

it("a relay with an invalid secret answers 503 with the name of the variable and without any configured secret", () => {
  const values = secretsOf(withDerived).filter(({ what }) => !what.startsWith("derived"));
  const texts = complaints.map((text) => ({ route: "a complaint", text }));
  expect(texts.length).toBe(2 * INVALID.length);
  const everywhere = values.map((secret) => ({ ...secret, givenBy: null }));
  expect(leaksIn(everywhere, texts)).toEqual([]);
});

const answerOf = (answers: readonly Answer[], route: RegExp) => {
  const found = answers.find((answer) => route.test(answer.route) && answer.status < 300);
  if (found === undefined) throw new Error(`no answer of ${route.source}`);
  return found;
};

it("the secrets for which the leak tests search are those that the relay uses", () => {
  const [secret = ""] = RELAY_SECRETS;
  const Secrets = z.object({ callbacks: z.array(z.string()), events: z.array(z.string()) });
  const { callbacks, events } = Secrets.parse(answerOf(withDerived.answers, FOR_OPERATORS).json);
  expect(callbacks).toEqual(RELAY_SECRETS.map((one) => whsec(derived(one, "callbacks"))));
  expect(events).toEqual(RELAY_SECRETS.map((one) => whsec(derived(one, "events"))));
  expect(withDerived.hookToken).toBe(
    hookToken(derived(secret, "hooks"), "rep", withDerived.taskId),
  );
  expect(answerOf(withDerived.answers, /jwks/).text).toContain(
    publicHalf(derived(secret, "ed25519")),
  );
  expect(answerOf(withConfigured.answers, FOR_OPERATORS).text).toContain(EVENTS);
  expect(answerOf(withConfigured.answers, /jwks/).text).toContain(JWK.x);
});

it("the search of the leak tests finds the secrets in responses that contain secrets on purpose", () => {
  const found = new Set(
    [withDerived, withConfigured].flatMap((one) =>
      secretsOf(one)
        .filter((secret) => one.answers.some(({ text }) => finds(secret, text)))
        .map(({ what }) => what.replace(/acct-.*/, "")),
    ),
  );
  expect([...found].toSorted()).toEqual([
    "EVENTS_SECRETS",
    "SIGNING_SECRETS",
    "a callback_url's query",
    "a hook's token",
    "a receiver's answer",
    "a status token",
    "an account's key",
    "derived for callbacks",
    "derived for callbacks/",
    "derived for events",
    "derived for operator",
    "derived for settlement",
  ]);
});

it.each([
  "callback.attempt",
  "task.hook",
  "upstream.poll",
  "provider.unauthorized",
  "request.refused",
  "operator.notice",
  "credits.refund",
])(
  "the log in which the tests search for leaked secrets has a line with the event %s, in which a secret could stand",
  (event) => {
    expect(relay.output).toContain(`"event":"${event}"`);
  },
);

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { derived, hookToken, publicHalf, whsec } from "./derived.ts";
import { type Answer, type Tour, tour } from "./exercise.ts";
import {
  BILLING_WORD,
  EVENTS,
  finds,
  FOR_OPERATORS,
  JWK,
  NEWER,
  OFFICE_WORD,
  OPERATOR_KEYS,
  QUERY_WORD,
  RECEIVER_WORD,
  RELAY_SECRETS,
  type Secret,
  secretsOf,
  UPSTREAM_KEY,
  WEBHOOK_SECRET,
  WRONG,
} from "./values.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";

let receiver: Receiver;
let relay: Workerd;
let life: Tour;
let configuredLife: Tour;
let broken: readonly string[];

beforeAll(async () => {
  receiver = await Receiver.start();
  const yes = { kind: "answer", status: 204 } as const;
  const entry = { provider: "replicate", key: UPSTREAM_KEY, webhook_secret: WEBHOOK_SECRET };
  const base_url = new URL(receiver.at("/", yes)).origin;
  const vars = {
    RELAY_SECRET: RELAY_SECRETS.join(" "),
    OPERATOR_KEYS: OPERATOR_KEYS.join(" "),
    CONNECTIONS: JSON.stringify({ rep: { ...entry, base_url } }),
    SETTLEMENT_URL: receiver.at(`/billing?t=${BILLING_WORD}`, yes),
    OPERATOR_CALLBACK_URL: receiver.at(`/office?t=${OFFICE_WORD}`, yes),
    ALLOW_LOCAL_CALLBACKS: "true",
    CALLBACK_SCHEDULE_S: "0,1",
  };
  relay = await Workerd.start({ vars });
  const tourist = {
    url: relay.url,
    operatorKeys: OPERATOR_KEYS,
    upstreamKey: UPSTREAM_KEY,
    webhookSecret: WEBHOOK_SECRET,
    receiver,
    receiverWord: RECEIVER_WORD,
    queryWord: QUERY_WORD,
  };
  life = await tour(tourist);
  await relay.restart({ ...vars, ...NEWER, SIGNING_KEYS: JSON.stringify(JWK) });
  configuredLife = await tour(tourist);
  broken = await brokenRelays(vars);
}, 240_000);

afterAll(async () => {
  await relay?.stop();
  await receiver?.stop();
});

/** What relays say whose secrets are there but wrong: the values must not be in the complaint. */
async function brokenRelays(vars: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const said: string[] = [];
  for (const [name, value] of WRONG) {
    await relay.restart({ ...vars, [name]: value });
    const headers = { Authorization: `Bearer ${OPERATOR_KEYS[0]}` };
    const answers = ["/healthz", "/v1/signing-secrets"].map(async (path) => {
      const response = await fetch(`${relay.url}${path}`, { headers });
      return `${response.status} ${await response.text()}`;
    });
    const texts = await Promise.all(answers);
    const isNamed = texts.every((text) => text.startsWith("503 ") && text.includes(name));
    if (!isNamed) throw new Error(`${name} was not complained of: ${texts.join("\n")}`);
    said.push(...texts);
  }
  return said;
}

/** The secrets in texts that are not theirs to be in. */
function leaksAmong(
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
  ["derived from RELAY_SECRET", () => life],
  ["configured one by one", () => configuredLife],
])("secrets that are %s", (_, lifeOf) => {
  it("are in no answer but those that give them on purpose", () => {
    expect(leaksAmong(secretsOf(lifeOf()), lifeOf().answers)).toEqual([]);
  });

  it("are in nothing that the relay has written", () => {
    const leaks = secretsOf(lifeOf()).filter((secret) => finds(secret, relay.output));
    expect(leaks.map(({ what }) => what)).toEqual([]);
  });

  it("are in nothing that was sent to receivers, to billing and to the operator's office", () => {
    const sent = receiver.posts
      .filter(({ path }) => !path.startsWith("/v1/predictions"))
      .map(({ path, headers, body }) => ({
        route: `sent ${path.split("?")[0]}`,
        text: JSON.stringify(headers) + body,
      }));
    const places = new Set(sent.map(({ route }) => route));
    expect([...places].toSorted()).toEqual(
      ["billing", "first", "office", "second", "test"].map((place) => `sent /${place}`),
    );
    expect(leaksAmong(secretsOf(lifeOf()), sent)).toEqual([]);
  });
});

describe("a relay with a secret that is wrong", () => {
  it("names the variable and repeats no value", () => {
    expect(broken.length).toBeGreaterThan(30);
    const values = secretsOf(life).filter(({ what }) => !what.startsWith("what is derived"));
    const leaks = values.filter((secret) => broken.some((text) => finds(secret, text)));
    expect(leaks.map(({ what }) => what)).toEqual([]);
  });
});

const given = (answers: readonly Answer[], route: RegExp) => {
  const found = answers.find((answer) => route.test(answer.route) && answer.status < 300);
  if (found === undefined) throw new Error(`nobody asked for ${route.source}`);
  return found;
};

describe("what these tests look for", () => {
  it("is what the relay really works with", () => {
    const [secret = ""] = RELAY_SECRETS;
    const Secrets = z.object({ callbacks: z.array(z.string()), events: z.array(z.string()) });
    const { callbacks, events } = Secrets.parse(given(life.answers, FOR_OPERATORS).json);
    expect(callbacks).toEqual(RELAY_SECRETS.map((one) => whsec(derived(one, "callbacks"))));
    expect(events).toEqual(RELAY_SECRETS.map((one) => whsec(derived(one, "events"))));
    expect(life.hookToken).toBe(hookToken(derived(secret, "hooks"), "rep", life.taskId));
    expect(given(life.answers, /jwks/).text).toContain(publicHalf(derived(secret, "ed25519")));
    expect(given(configuredLife.answers, FOR_OPERATORS).text).toContain(EVENTS);
    expect(given(configuredLife.answers, /jwks/).text).toContain(JWK.x);
  });

  it("is found where it is given on purpose, so that it would be found elsewhere", () => {
    const found = new Set(
      [life, configuredLife].flatMap((one) =>
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
      "an account's key",
      "what a receiver said",
      "what is derived for callbacks",
      "what is derived for callbacks/",
      "what is derived for events",
      "what is derived for operator",
      "what is derived for settlement",
    ]);
  });

  it("was met on a life with every kind of trouble", () => {
    for (const event of [
      "callback.attempt",
      "hook.ignored",
      "upstream.poll",
      "provider.unauthorized",
      "request.refused",
      "operator.notice",
      "credits.refund",
    ]) {
      expect(relay.output.includes(`"event":"${event}"`) ? event : "no such line").toBe(event);
    }
  });
});

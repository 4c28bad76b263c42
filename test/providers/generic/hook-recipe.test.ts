import { expect, it } from "vitest";
import { Webhook } from "standardwebhooks";
import { type HookRecipe, verifyRecipe } from "../../../src/providers/generic/hook-recipe.ts";
import { aHook, base64, hex, hmac as hmacOf } from "../hook.ts";

const NOW_S = 1_767_225_600;
const SECRET = "test-only-webhook-secret";
const BODY = '{"id":"1","status":"COMPLETED"}';
const SYNC: HookRecipe = {
  header: "Sync-Signature",
  timestamp_prefix: "t=",
  prefix: "v1=",
  recipe: "{timestamp}.{body}",
};

async function hmac(text: string, encoding: "hex" | "base64" = "hex"): Promise<string> {
  const mac = await hmacOf(SECRET, text);
  return encoding === "hex" ? hex(mac) : base64(mac);
}

function verified(
  headers: Readonly<Record<string, string>>,
  recipe: HookRecipe,
  {
    body = BODY,
    secret = SECRET,
    nowS = NOW_S,
  }: { body?: string; secret?: string; nowS?: number } = {},
) {
  const hook = aHook(headers, body, { path: "/hooks/a/task/token" });
  return verifyRecipe(hook, recipe, secret, nowS * 1_000);
}

it("a hook whose signature and time are in one header, as the declaration of sync.so describes, is accepted, and refused after any change of the hook", async () => {
  const signature = await hmac(`${NOW_S}.${BODY}`);
  const header = { "Sync-Signature": `t=${NOW_S},v1=${signature}` };
  expect(await verified(header, SYNC)).toBe("signed");
  expect(await verified({ "Sync-Signature": `t=${NOW_S}, v1=00, v1=${signature}` }, SYNC)).toBe(
    "signed",
  );
  const wrong = [
    {},
    { "Sync-Signature": "" },
    { "Sync-Signature": `v1=${signature}` },
    { "Sync-Signature": `t=${NOW_S + 1},v1=${signature}` },
    { "Sync-Signature": `t=${NOW_S},v0=${signature}` },
    { "Sync-Signature": `t=${NOW_S},v1=${signature.slice(1)}` },
  ];
  for (const headers of wrong) expect(await verified(headers, SYNC)).toBe("refused");
  expect(await verified(header, SYNC, { body: `${BODY} ` })).toBe("refused");
  expect(await verified(header, SYNC, { secret: "another" })).toBe("refused");
});

it.each([
  [300, null, "signed"],
  [301, null, "refused"],
  [-300, null, "signed"],
  [-301, null, "refused"],
  [60, 60, "signed"],
  [61, 60, "refused"],
])(
  "a hook signature that is %i s old when the upstream's declaration has the tolerance_s %s (null means 300) is read as %s",
  async (ageS, tolerance_s, expected) => {
    const header = { "Sync-Signature": `t=${NOW_S},v1=${await hmac(`${NOW_S}.${BODY}`)}` };
    expect(await verified(header, { ...SYNC, tolerance_s }, { nowS: NOW_S + ageS })).toBe(expected);
  },
);

it("a hook signature without a time, in hex or in base64, is accepted when the upstream's declaration describes this form", async () => {
  const recipe = { header: "X-Hub-Signature", prefix: "sha256=", recipe: "{body}" } as const;
  const inHex = { "X-Hub-Signature": `sha256=${await hmac(BODY)}` };
  expect(await verified(inHex, recipe)).toBe("signed");
  const plain: HookRecipe = { header: "X-Signature", recipe: "{body}", encoding: "base64" };
  expect(await verified({ "X-Signature": await hmac(BODY, "base64") }, plain)).toBe("signed");
  expect(await verified({ "X-Signature": await hmac(BODY) }, plain)).toBe("refused");
});

it("a hook signature that by the declaration covers the path, a header and the time in a further header is accepted, and refused when one of the headers is missing", async () => {
  const recipe: HookRecipe = {
    header: "X-Signature",
    timestamp_header: "X-Time",
    recipe: "POST {path} {header:X-Nonce} {timestamp}\n{body}",
  };
  const signed = await hmac(`POST /hooks/a/task/token n-1 ${NOW_S}\n${BODY}`);
  const headers = { "X-Signature": signed, "X-Time": String(NOW_S), "X-Nonce": "n-1" };
  expect(await verified(headers, recipe)).toBe("signed");
  const { "X-Nonce": _, ...without } = headers;
  expect(await verified(without, recipe)).toBe("refused");
  const { "X-Time": _time, ...timeless } = headers;
  expect(await verified(timeless, recipe)).toBe("refused");
});

it("a hook signed by the library of Standard Webhooks is accepted when the upstream's declaration describes this form of signature", async () => {
  const secret = `whsec_${btoa("test-only-standard-secret-1234")}`;
  const recipe: HookRecipe = {
    header: "webhook-signature",
    prefix: "v1,",
    timestamp_header: "webhook-timestamp",
    recipe: "{header:webhook-id}.{timestamp}.{body}",
    encoding: "base64",
    secret: "base64",
  };
  const signature = new Webhook(secret).sign("msg_1", new Date(NOW_S * 1_000), BODY);
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(NOW_S),
    "webhook-signature": `v1a,AAAA ${signature}`,
  };
  expect(await verified(headers, recipe, { secret })).toBe("signed");
  expect(await verified(headers, recipe, { secret: "whsec_???" })).toBe("refused");
});

it("a hook counts as unsigned when the upstream's declaration describes a signature, but no webhook secret is configured", async () => {
  const hook = aHook({}, BODY, { path: "/hooks/a/task/token" });
  expect(await verifyRecipe(hook, SYNC, null, NOW_S * 1_000)).toBe("unsigned");
});

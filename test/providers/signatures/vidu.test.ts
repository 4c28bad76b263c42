import { describe, expect, it } from "vitest";
import { bytesOf } from "../../../src/security/encoding.ts";
import { macFromBase64, verifyWithText } from "../../../src/security/hmac.ts";
import { vidu } from "../../../src/providers/vidu.ts";
import { aConnection, aContext, aHook, base64, hmac, NOW, tampered } from "../hook.ts";

const KEY = "vda_test_key";
const BODY = '{"id":"1","state":"success"}';
const DATE = "Thu, 01 Jan 2026 00:00:00 GMT";
const NONCE = "123e4567-e89b-12d3-a456-426614174000";
const SENT = {
  Date: DATE,
  "x-request-nonce": NONCE,
  "X-HMAC-SIGNED-HEADERS": "Date;x-request-nonce",
  "X-HMAC-SIGNATURE": "9o4I3fiJy0RVKXv0vjOOwHkWlHBZ8v7aiEyfknLsG1g=",
  "X-HMAC-ALGORITHM": "hmac-sha256",
  "X-HMAC-ACCESS-KEY": "vidu",
};

interface Setting {
  readonly body?: string | Uint8Array;
  readonly path?: string;
  readonly query?: string;
  readonly key?: string | null;
  /** Unix milliseconds. */
  readonly now?: number;
}

function authenticity(
  headers: Readonly<Record<string, string | undefined>> = {},
  { body = BODY, path = "/hooks/vidu", query = "", key = KEY, now = NOW }: Setting = {},
) {
  const hook = aHook({ ...SENT, ...headers }, body, { path, query });
  return vidu.hooks?.authenticate(hook, aConnection({ key }), aContext(now));
}

/** Headers that sign `names` as they are sent. */
async function signing(headers: Readonly<Record<string, string>>, names: string, date = DATE) {
  const lines = names.split(";").map((name) => `${name}:${new Headers(headers).get(name) ?? ""}\n`);
  const content = `POST\n/hooks/vidu\n\nvidu\n${date}\n${lines.join("")}`;
  const signature = base64(await hmac(KEY, content));
  return { ...headers, "X-HMAC-SIGNED-HEADERS": names, "X-HMAC-SIGNATURE": signature };
}

describe("the signature of Vidu", () => {
  it("is made as that of Apache APISIX, whose published example is accepted", async () => {
    const content = [
      "GET",
      "/index.html",
      "age=36&name=james",
      "user-key",
      "Tue, 19 Jan 2021 11:33:20 GMT",
      "User-Agent:curl/7.29.0",
      "x-custom-a:test",
      "",
    ].join("\n");
    const signature = macFromBase64("8XV1GB7Tq23OJcoz6wjqTs4ZLxr9DiLoY4PxzScWGYg=");

    expect(await verifyWithText("my-secret-key", [signature], bytesOf(content))).toBe(true);
    expect(await verifyWithText("my-secret-key", [signature], bytesOf(content.trimEnd()))).toBe(
      false,
    );
  });

  it("is accepted as composed by hand, and proves no body", async () => {
    expect(await authenticity()).toBe("unsigned");
  });

  it("is accepted over any body", async () => {
    expect(await authenticity({}, { body: tampered(BODY) })).toBe("unsigned");
    expect(await authenticity({}, { body: '{"payload":"früher 🦊"}' })).toBe("unsigned");
    expect(await authenticity({}, { body: "" })).toBe("unsigned");
  });

  it.each([
    ["as it was sent", "X7THxS7616k32++3dvRlqtMAy9t2JzgjGW/AK6Jxb70="],
    ["sorted", "gU0RHphZrPL3OaeJhP9U/uZbH+SWcz67N2IYgPrh/5c="],
  ])("is accepted over the query %s", async (_, signature) => {
    const headers = { "X-HMAC-SIGNATURE": signature };

    expect(await authenticity(headers, { query: "b=2&a=1" })).toBe("unsigned");
    expect(await authenticity(headers, { query: "b=2&a=2" })).toBe("refused");
    expect(await authenticity(headers, { query: "" })).toBe("refused");
  });

  it("is not looked at without a key", async () => {
    expect(await authenticity({ "X-HMAC-SIGNATURE": undefined }, { key: null })).toBe("unsigned");
  });

  it("is refused under an empty key and under another", async () => {
    expect(await authenticity({}, { key: "" })).toBe("refused");
    expect(await authenticity({}, { key: "vda_other_key" })).toBe("refused");
  });

  it("covers path, date and nonce", async () => {
    expect(await authenticity({}, { path: "/hooks/vidu/" })).toBe("refused");
    expect(await authenticity({ Date: "Thu, 01 Jan 2026 00:00:01 GMT" })).toBe("refused");
    expect(await authenticity({ "x-request-nonce": `${NONCE}0` })).toBe("refused");
  });

  it.each([
    "Date",
    "x-request-nonce",
    "X-HMAC-SIGNED-HEADERS",
    "X-HMAC-SIGNATURE",
    "X-HMAC-ALGORITHM",
  ])("is refused without %s", async (name) => {
    expect(await authenticity({ [name]: undefined })).toBe("refused");
  });

  it.each(["Date", "x-request-nonce", "user-agent"])(
    "is refused over %s alone, for then it could be sent again",
    async (names) => {
      const headers = { Date: DATE, "x-request-nonce": NONCE, "user-agent": "vidu" };

      expect(await authenticity(await signing(headers, names))).toBe("refused");
    },
  );

  it("is accepted over further headers, in the order and spelling that is listed", async () => {
    const headers = { Date: DATE, "x-request-nonce": NONCE, "User-Agent": "vidu/1" };
    const signed = await signing(headers, "User-Agent;X-Request-Nonce;date");

    expect(await authenticity(signed)).toBe("unsigned");
    expect(await authenticity({ ...signed, "User-Agent": "vidu/2" })).toBe("refused");
  });

  it("is refused over names that no header can have", async () => {
    const names = { "X-HMAC-SIGNED-HEADERS": "Date;x-request-nonce;;a b" };

    expect(await authenticity(names)).toBe("refused");
  });

  it("is accepted within 300 s and refused beyond them", async () => {
    for (const [shift, verdict] of [
      [-301, "refused"],
      [-300, "unsigned"],
      [300, "unsigned"],
      [301, "refused"],
    ] as const) {
      expect(await authenticity({}, { now: NOW + shift * 1000 })).toBe(verdict);
    }
  });

  it.each(["2026-01-01T00:00:00Z", `${NOW / 1000}`, "Thu, 01 Jan 2026 00:00:00", "today GMT"])(
    "is refused over the date %j",
    async (date) => {
      const headers = { Date: date, "x-request-nonce": NONCE };

      expect(await authenticity(await signing(headers, "Date;x-request-nonce", date))).toBe(
        "refused",
      );
    },
  );

  it("is refused under another algorithm", async () => {
    expect(await authenticity({ "X-HMAC-ALGORITHM": "hmac-sha1" })).toBe("refused");
  });

  it("is refused cut short", async () => {
    expect(await authenticity({ "X-HMAC-SIGNATURE": "9o4I3fiJy0RVKXv0vjOOwA==" })).toBe("refused");
  });
});

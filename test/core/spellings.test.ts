import { describe, expect, it } from "vitest";
import { areSpelledIn, hideSecrets } from "../../src/security/spellings.ts";

const SECRET = "sk-a/b+c=d&e:0123456789";
const OTHER = "whsec_0123456789abcdef";

const percent = (text: string) =>
  text.replaceAll(/[^\w]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
const unicode = (text: string) =>
  text.replaceAll(/./g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

describe("a secret in a text", () => {
  it.each([
    ["as it is", SECRET],
    ["with an escaped slash, as PHP writes JSON", SECRET.replaceAll("/", "\\/")],
    ["with the escapes of JSON for every character", unicode(SECRET)],
    ["with capital hex digits", unicode(SECRET).toUpperCase().replaceAll("\\U", "\\u")],
    ["with one escape of JSON", SECRET.replace("&", "\\u0026")],
    ["in JSON within JSON", SECRET.replaceAll("/", "\\\\\\/").replace("&", "\\\\u0026")],
    ["percent-encoded", percent(SECRET)],
    ["percent-encoded in capitals", encodeURIComponent(SECRET)],
    ["percent-encoded twice", percent(percent(SECRET))],
    ["percent-encoded within JSON", unicode(percent(SECRET))],
    ["with the escapes of HTML", SECRET.replace("&", "&amp;").replace("/", "&#x2F;")],
    ["with the decimal escapes of HTML", SECRET.replace("&", "&#38;").replace("/", "&#47;")],
    ["with the escapes of JavaScript", SECRET.replace("&", "\\x26").replace("/", "\\u{2f}")],
    ["in base64", btoa(SECRET)],
    ["in base64 behind a user name", btoa(`u:${SECRET}`)],
    ["in base64 behind a longer user name", btoa(`us:${SECRET}`)],
    ["in base64url", btoa(`?>?>${SECRET}`).replaceAll("+", "-").replaceAll("/", "_")],
    ["in base64 with escaped slashes", btoa(`???${SECRET}`).replaceAll("/", "\\/")],
  ])("a secret in a text is found and hidden when it is written there %s", (_, spelled) => {
    const text = `{"before": "\\n%41 é", "key": "${spelled}", "after": "\\"1\\""}`;
    expect(areSpelledIn(text, [OTHER, SECRET])).toBe(true);
    const hidden = hideSecrets(text, [OTHER, SECRET]);
    expect(hidden).toMatch(
      /^\{"before": "\\n%41 é", "key": ".{0,12}….{0,4}", "after": "\\"1\\""\}$/,
    );
    expect(areSpelledIn(hidden, [SECRET])).toBe(false);
  });

  it("a secret whose first character is escaped in a text is hidden together with the backslash, so that JSON stays JSON", () => {
    const secret = "/0123456789";
    const hidden = hideSecrets(JSON.stringify({ url: `a${secret}` }).replace("/", "\\/"), [secret]);
    expect(JSON.parse(hidden)).toEqual({ url: "a…" });
  });

  it("a secret that contains other secrets is hidden by one replacement", () => {
    const [access, secret] = ["access-0123", "secret-4567"];
    const secrets = [access, `${access}:${secret}`, secret];
    expect(hideSecrets(`1 ${access}:${secret} 2 ${secret}`, secrets)).toBe("1 … 2 …");
  });

  it("a secret is hidden at each place in a text, also when the text has it in two spellings", () => {
    const text = `${SECRET} and ${percent(SECRET)}, ${SECRET}`;
    expect(hideSecrets(text, [SECRET])).toBe("… and …, …");
  });
});

it.each([
  ["no secret", "a text with \\u0041, %41 and &amp;"],
  ["a part of a secret", SECRET.slice(0, -1)],
  ["a secret in capitals", SECRET.toUpperCase()],
  ["no characters", ""],
])("a text that has %s is not changed when secrets are hidden in it", (_, text) => {
  expect(areSpelledIn(text, [SECRET, OTHER])).toBe(false);
  expect(hideSecrets(text, [SECRET, OTHER, ""])).toBe(text);
  expect(hideSecrets(text, [])).toBe(text);
});

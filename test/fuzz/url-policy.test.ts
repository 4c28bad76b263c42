import { describe } from "vitest";
import { checkCallbackUrl } from "../../src/security/url-policy.ts";
import { CARRYING_V4, isPublicHost, SPECIAL_V4, SPECIAL_V6 } from "./addresses.ts";
import type { Choices } from "./choices.ts";
import { announce, fuzz } from "./fuzz.ts";
import { mutatedOften } from "./text.ts";

announce("callback URLs");

const OWN = "https://relay.example.com";
const NAMES = [
  "client.example.net",
  "relay.example.com",
  "RELAY.example.com.",
  "localhost",
  "a.localhost",
  "metadata.google.internal",
  "printer.local",
  "hidden.onion",
  "router.home.arpa",
  "intranet",
  "例え.テスト",
  "xn--r8jz45g.xn--zckzah",
  "a..b",
  "127.0.0.1.nip.io",
  "client.example.net.",
] as const;
const SCHEMES = [
  "https://",
  "https://",
  "https://",
  "http://",
  "HTTPS:\\\\",
  "https:/",
  "ftp://",
  "",
];
const USERS = ["", "", "", "", "user@", "user:pass@", "@", ":@", "127.0.0.1@"];
const PORTS = ["", "", "", ":443", ":8443", ":0", ":99999", ":"];
const PATHS = ["/callbacks", "", "/a?b=c#d", "/@", "?@x", "#@", "/\u00e9", `/${"a".repeat(2_030)}`];
const POLICY = { allowLocal: false, ownOrigins: [OWN, "not a URL"] };

function generate(choices: Choices): string {
  const host = choices.pick([aName, aV4, aV6])(choices);
  const text = choices.pick(SCHEMES) + choices.pick(USERS) + host;
  return mutatedOften(text + choices.pick(PORTS) + choices.pick(PATHS), choices, 2);
}

function aName(choices: Choices): string {
  return choices.pick(NAMES);
}

/** Any address, half of them special ones, in any spelling. */
function aV4(choices: Choices): string {
  const address = anAddress(choices);
  const radix = choices.pick([10, 16, 8]);
  const spelled = (part: bigint) => `${prefixOf(radix)}${part.toString(radix)}`;
  const parts = choices.between(1, 4);
  const rest = BigInt(8 * (5 - parts));
  const heads = Array.from({ length: parts - 1 }, (_, i) => (address >> BigInt(24 - 8 * i)) & 255n);
  return [...heads, address & ((1n << rest) - 1n)].map(spelled).join(".");
}

function prefixOf(radix: number): string {
  if (radix === 16) return "0x";
  return radix === 8 ? "0" : "";
}

function anAddress(choices: Choices): bigint {
  const low = BigInt(choices.below(2 ** 32));
  if (choices.chance(0.5)) return low;
  const [first, length] = choices.pick(SPECIAL_V4);
  return first | (low >> BigInt(length));
}

function aV6(choices: Choices): string {
  const random = [0, 1, 2, 3].reduce((sum) => (sum << 32n) | BigInt(choices.below(2 ** 32)), 0n);
  const [special, length] = choices.pick(SPECIAL_V6);
  const address = choices.pick([
    (2n << 124n) | (random >> 4n),
    random,
    special | (random >> BigInt(length)),
    choices.pick(CARRYING_V4) | anAddress(choices),
    // 6to4 carries it in the middle.
    (0x2002n << 112n) | (anAddress(choices) << 80n),
    BigInt(choices.below(3)),
  ]);
  const groups = Array.from({ length: 8 }, (_, i) => (address >> BigInt(112 - 16 * i)) & 0xffffn);
  const full = groups.map((group) => group.toString(16)).join(":");
  const text = choices.chance(0.5) ? full.replace(/(?:^|:)0(?::0)+(?::|$)/, "::") : full;
  return `[${choices.chance(0.2) ? text.toUpperCase() : text}]`;
}

/** Whether the contract admits the URL; the host is judged as `URL`, and so `fetch`, reads it. */
function isAdmitted(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.protocol !== "https:") return false;
  if (text.length > 2048 || url.href.length > 2048 || text.trim() !== text) return false;
  // What `URL` leaves out without a word is not what the client wrote.
  if (/\p{Cc}/u.test(text)) return false;
  const [authority = ""] = text.replace(/^https:[/\\]*/i, "").split(/[/\\?#]/);
  if (authority.includes("@") || url.username !== "" || url.password !== "") return false;
  const isOwn = url.hostname.replace(/\.$/, "") === new URL(OWN).hostname;
  return !isOwn && isPublicHost(url.hostname);
}

describe("a callback_url", () => {
  fuzz({
    promise: "is taken exactly when the contract admits it, and judged the same as it is called",
    cases: 100_000,
    generate,
    check: (text) => {
      const verdict = checkCallbackUrl(text, POLICY);
      if (verdict.ok !== isAdmitted(text))
        throw new Error(verdict.ok ? "was taken" : "was refused");
      if (!verdict.ok) {
        const isQuoted = text.length > 12 && verdict.error.includes(text);
        if (verdict.error === "" || isQuoted) throw new Error(`it says: ${verdict.error}`);
        return false;
      }
      const again = checkCallbackUrl(verdict.value.href, POLICY);
      if (!again.ok || again.value.href !== verdict.value.href)
        throw new Error("is judged otherwise");
      return true;
    },
  });
});

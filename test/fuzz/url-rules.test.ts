import * as fc from "fast-check";
import { failure } from "../../src/core/result.ts";
import { checkCallbackUrl } from "../../src/security/url-rules.ts";
import { CARRYING_V4, isPublicHost, SPECIAL_V4, SPECIAL_V6 } from "./addresses.ts";
import { fuzz } from "./fuzz.ts";
import { changedText } from "./text.ts";

const OWN = "https://relay.example.com";
const RULES = { allowLocal: false, allowIp: true, ownOrigin: OWN };

const PUBLIC = ["client.example.net", "client.example.net.", "127.0.0.1.nip.io"];
const OWN_HOSTS = ["relay.example.com", "RELAY.example.com."];
const PRIVATE = ["localhost", "a.localhost", "metadata.google.internal", "printer.local"];
const SPECIAL = ["hidden.onion", "router.home.arpa", "intranet", "a..b"];
const INTERNATIONAL = ["例え.テスト", "xn--r8jz45g.xn--zckzah"];
const name = fc.constantFrom(...[PUBLIC, OWN_HOSTS, PRIVATE, SPECIAL, INTERNATIONAL].flat());
const HTTPS = ["https://", "https://", "https://", "HTTPS:\\\\", "https:/"];
const scheme = fc.constantFrom(...HTTPS, "http://", "ftp://", "");
const user = fc.constantFrom("", "", "", "", "user@", "user:pass@", "@", ":@", "127.0.0.1@");
const port = fc.constantFrom("", "", "", ":443", ":8443", ":0", ":99999", ":");
const PATHS = ["/callbacks", "", "/a?b=c#d", "/@", "?@x", "#@", "/\u00e9"];
const path = fc.constantFrom(...PATHS, `/${"a".repeat(2_030)}`);

const any = (bits: bigint) => fc.bigInt({ min: 0n, max: (1n << bits) - 1n });
/** Generator of IPv4 addresses, of which half are special. */
const addressV4 = fc.oneof(
  any(32n),
  fc
    .tuple(fc.constantFrom(...SPECIAL_V4), any(32n))
    .map(([[first, length], low]) => first | (low >> BigInt(length))),
);
const asWritten = (host: string) => host;
const fullWidth = (host: string) =>
  host.replaceAll(/[0-9.]/g, (char) => String.fromCodePoint(0xfee0 + (char.codePointAt(0) ?? 0)));
const percentEncoded = (host: string) =>
  host.replaceAll(/./g, (char) => `%${(char.codePointAt(0) ?? 0).toString(16)}`);
/** Generator of IPv4 addresses in any spelling: decimal, octal or hexadecimal, with one to four parts. */
const hostV4 = fc
  .tuple(
    addressV4,
    fc.array(fc.constantFrom(10, 16, 8), { minLength: 4, maxLength: 4 }),
    fc.nat(3),
    fc.constantFrom(asWritten, asWritten, fullWidth, percentEncoded),
  )
  .map(([address, radixes, heads, write]) => {
    const parts = Array.from({ length: heads }, (_, i) => (address >> BigInt(24 - 8 * i)) & 255n);
    const rest = address & ((1n << BigInt(32 - 8 * heads)) - 1n);
    return write([...parts, rest].map((part, i) => spelled(part, radixes[i] ?? 10)).join("."));
  });
const addressV6 = fc.oneof(
  any(124n).map((low) => (2n << 124n) | low),
  any(128n),
  fc
    .tuple(fc.constantFrom(...SPECIAL_V6), any(128n))
    .map(([[first, length], low]) => first | (low >> BigInt(length))),
  fc.tuple(fc.constantFrom(...CARRYING_V4), addressV4).map(([prefix, low]) => prefix | low),
  // An address of the 6to4 range contains the IPv4 address in its middle.
  addressV4.map((address) => (0x2002n << 112n) | (address << 80n)),
  any(2n),
);
const hostV6 = fc
  .tuple(addressV6, fc.boolean(), fc.boolean())
  .map(([address, isShort, isUpper]) => {
    const groups = Array.from({ length: 8 }, (_, i) => (address >> BigInt(112 - 16 * i)) & 0xffffn);
    const full = groups.map((group) => group.toString(16)).join(":");
    const text = isShort ? full.replace(/(?:^|:)0(?::0)+(?::|$)/, "::") : full;
    return `[${isUpper ? text.toUpperCase() : text}]`;
  });
const callbackUrl = fc
  .tuple(scheme, user, fc.oneof(name, hostV4, hostV6), port, path)
  .map((parts) => parts.join(""));

function spelled(part: bigint, radix: number): string {
  const prefix = radix === 16 ? "0x" : "0";
  return `${radix === 10 ? "" : prefix}${part.toString(radix)}`;
}

/**
 * Tells whether the contract accepts the URL. The host is judged as `URL`, and therefore `fetch`, reads it.
 */
function isAdmitted(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.protocol !== "https:") return false;
  if (text.length > 2048 || url.href.length > 2048 || text.trim() !== text) return false;
  // `URL` drops control characters and replaces half an emoji silently, so the result is not what the client wrote.
  if (/[\p{Cc}\p{Cs}]/u.test(text)) return false;
  const [authority = ""] = text.replace(/^https:[/\\]*/i, "").split(/[/\\?#]/);
  if (authority.includes("@") || url.username !== "" || url.password !== "") return false;
  return isForeign(url.hostname.replace(/\.$/, "")) && isPublicHost(url.hostname);
}

/** Tells whether a host name is not that of the relay, and as short as the DNS demands (RFC 1035 §2.3.4). */
function isForeign(host: string): boolean {
  const isShort = host.length <= 253 && host.split(".").every((label) => label.length <= 63);
  return isShort && host !== new URL(OWN).hostname;
}

fuzz(
  "any callback_url is accepted exactly when it is an https URL of a public host other than the relay; its normalised form is accepted too",
  {
    inputs: changedText(callbackUrl, 2),
    subject: checkCallbackUrl,
    defects: {
      "accepts local hosts": (text, rules) =>
        checkCallbackUrl(text, { ...rules, allowLocal: true }),
      "accepts the relay itself": (text, rules) =>
        checkCallbackUrl(text, { ...rules, ownOrigin: "https://other.example.com" }),
      "accepts addresses without allowIp": (text, rules) =>
        checkCallbackUrl(text, { ...rules, allowIp: true }),
      "refuses every URL": () => failure("is refused"),
      "quotes the URL in a refusal": (text, rules) => {
        const verdict = checkCallbackUrl(text, rules);
        return verdict.ok ? verdict : failure(`${text} ${verdict.error}`);
      },
    },
    check: (text, subject) => {
      const verdict = subject(text, RULES);
      if (verdict.ok !== isAdmitted(text))
        throw new Error(verdict.ok ? "the URL was accepted" : "the URL was refused");
      if (!verdict.ok) {
        const isQuoted = text.length > 12 && verdict.error.includes(text);
        if (verdict.error === "" || isQuoted) throw new Error(`the reason is: ${verdict.error}`);
        return false;
      }
      const isIp = /^(?:\[.*\]|(?:\d+\.){3}\d+\.?)$/.test(verdict.value.hostname);
      if (subject(text, { ...RULES, allowIp: false }).ok === isIp)
        throw new Error("an address was accepted, or a name refused, without allowIp");
      const again = subject(verdict.value.href, RULES);
      if (!again.ok || again.value.href !== verdict.value.href)
        throw new Error("the normal form of the URL is judged otherwise");
      return true;
    },
  },
);

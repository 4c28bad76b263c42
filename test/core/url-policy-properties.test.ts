import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkCallbackUrl } from "../../src/security/url-policy.ts";

const policy = { allowLocal: false, ownOrigins: ["https://relay.example.com"] };

/** First address and prefix length. */
type Cidr = readonly [first: bigint, length: number];

/**
 * Written by hand from the IANA special-purpose registries (2025), multicast and class E added, so
 * that this oracle shares nothing with ipaddr.js.
 */
const SPECIAL_V4: readonly Cidr[] = [
  [0x00_00_00_00n, 8], // this network
  [0x0a_00_00_00n, 8], // private
  [0x64_40_00_00n, 10], // carrier-grade NAT
  [0x7f_00_00_00n, 8], // loopback
  [0xa9_fe_00_00n, 16], // link-local
  [0xac_10_00_00n, 12], // private
  [0xc0_00_00_00n, 24], // protocol assignments
  [0xc0_00_02_00n, 24], // documentation
  [0xc0_1f_c4_00n, 24], // AS112
  [0xc0_34_c1_00n, 24], // AMT
  [0xc0_58_63_00n, 24], // 6to4 relays
  [0xc0_a8_00_00n, 16], // private
  [0xc0_af_30_00n, 24], // AS112
  [0xc6_12_00_00n, 15], // benchmarking
  [0xc6_33_64_00n, 24], // documentation
  [0xcb_00_71_00n, 24], // documentation
  [0xe0_00_00_00n, 4], // multicast
  [0xf0_00_00_00n, 4], // reserved, broadcast
];

const v6 = (groups: string) => BigInt(`0x${groups.replaceAll(":", "").padEnd(32, "0")}`);

const SPECIAL_V6: readonly Cidr[] = [
  [0n, 96], // unspecified, loopback, IPv4-compatible
  [0xffff_0000_0000n, 96], // IPv4-mapped
  [0xffff_0000_0000_0000n, 96], // IPv4-translated
  [v6("0064:ff9b"), 96], // NAT64
  [v6("0064:ff9b:0001"), 48], // NAT64, local
  [v6("0100"), 64], // discard
  [v6("0100:0000:0000:0001"), 64], // dummy
  [v6("2001:0000"), 23], // protocol assignments: Teredo, benchmarking, ORCHID …
  [v6("2001:0db8"), 32], // documentation
  [v6("2002"), 16], // 6to4
  [v6("2620:004f:8000"), 48], // AS112
  [v6("3fff"), 20], // documentation
  [v6("4000"), 2], // not handed out; 5f00::/16 is segment routing
  [v6("8000"), 2], // not handed out
  [v6("c000"), 3], // not handed out
  [v6("e000"), 4], // not handed out
  [v6("fc00"), 7], // unique local
  [v6("fe80"), 10], // link-local
  [v6("fec0"), 10], // site-local
  [v6("ff00"), 8], // multicast
];

const isIn = (cidrs: readonly Cidr[], bits: number, address: bigint) =>
  cidrs.some(
    ([first, length]) => address >> BigInt(bits - length) === first >> BigInt(bits - length),
  );

const within = ([first, length]: Cidr, bits: number) =>
  fc.bigInt({ min: first, max: first + (1n << BigInt(bits - length)) - 1n });

const withinAny = (cidrs: readonly Cidr[], bits: number) =>
  fc.constantFrom(...cidrs).chain((cidr) => within(cidr, bits));

const decimal = (part: bigint) => part.toString();
const octal = (part: bigint) => `0${part.toString(8)}`;
const hex = (part: bigint) => `0x${part.toString(16)}`;
const paddedHex = (part: bigint) => `0X${part.toString(16).toUpperCase().padStart(10, "0")}`;
const anyRadix = fc.constantFrom(decimal, octal, hex, paddedHex);

const fullWidth = (host: string) =>
  host.replaceAll(/[0-9.]/g, (char) => String.fromCodePoint(0xfee0 + (char.codePointAt(0) ?? 0)));
const percentEncoded = (host: string) =>
  host.replaceAll(/./g, (char) => `%${(char.codePointAt(0) ?? 0).toString(16)}`);
const asWritten = (host: string) => host;
const withFinalDot = (host: string) => `${host}.`;

/** One to four parts in any radix; the last part holds all bytes that are left. */
const spelledV4 = (address: bigint) =>
  fc
    .record({
      radixes: fc.array(anyRadix, { minLength: 1, maxLength: 4 }),
      writing: fc.constantFrom(asWritten, fullWidth, percentEncoded, withFinalDot),
    })
    .map(({ radixes, writing }) => {
      const rest = BigInt(8 * (5 - radixes.length));
      const parts = radixes.map((radix, i) =>
        i === radixes.length - 1
          ? radix(address & ((1n << rest) - 1n))
          : radix((address >> BigInt(24 - 8 * i)) & 0xffn),
      );
      return writing(parts.join("."));
    });

const groupsOf = (address: bigint) =>
  Array.from({ length: 8 }, (_, i) => (address >> BigInt(112 - 16 * i)) & 0xffffn);

const dottedV4 = (address: bigint) =>
  [24n, 16n, 8n, 0n].map((shift) => ((address >> shift) & 0xffn).toString()).join(".");

/** Compressed at the first run of zeros or not at all, padded or not, in either case. */
const spelledV6 = (address: bigint) =>
  fc
    .record({
      padded: fc.boolean(),
      upper: fc.boolean(),
      compressed: fc.boolean(),
      dotted: fc.boolean(),
    })
    .map(({ padded, upper, compressed, dotted }) => {
      const groups = groupsOf(address).map((group) =>
        group.toString(16).padStart(padded ? 4 : 1, "0"),
      );
      const full = (dotted ? [...groups.slice(0, 6), dottedV4(address)] : groups).join(":");
      const text = compressed ? full.replace(/(?:^|:)0+(?::0+)*(?::|$)/, "::") : full;
      return `[${upper ? text.toUpperCase() : text}]`;
    });

/** Text out of the pieces that URL parsers stumble over. */
const urlLike = fc
  .array(
    fc.oneof(
      fc.constantFrom("https:", "http:", "//", "/", "\\", "@", ":", "?", "#", ".", "[", "]", "%"),
      fc.constantFrom("example.com", "localhost", "local", "127.0.0.1", "0x7f", "::1", "8.8.8.8"),
      fc.constantFrom("。", "\t", " ", "\u{ad}", "xn--", "例え", "relay.example.com", "\u{d800}"),
      fc.string({ unit: "binary", maxLength: 3 }),
    ),
    { maxLength: 10 },
  )
  .chain((pieces) =>
    fc.constantFrom("", "https://", "https://example.com").map((start) => start + pieces.join("")),
  );
const anyText = fc.oneof(fc.string({ unit: "binary" }), fc.webUrl(), urlLike);

const isOk = (host: string) => checkCallbackUrl(`https://${host}/callback`, policy).ok;

/** What fetch would be sent to, told from the normalised host alone. */
function isPublicHost(host: string): boolean {
  if (host.startsWith("[")) return host.startsWith("[2") || host.startsWith("[3");
  const bytes = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(host)?.slice(1);
  if (bytes === undefined) return /[^.]\.[^.]/.test(host);
  const address = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return !isIn(SPECIAL_V4, 32, address);
}

describe("checkCallbackUrl, for any input", () => {
  it("refuses every special IPv4 address however it is written", () => {
    const hosts = withinAny(SPECIAL_V4, 32).chain(spelledV4);
    fc.assert(
      fc.property(hosts, (host) => {
        expect(URL.canParse(`https://${host}/`)).toBe(true);
        expect(isOk(host)).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  it("refuses every special IPv6 address however it is written", () => {
    const hosts = withinAny(SPECIAL_V6, 128).chain(spelledV6);
    fc.assert(
      fc.property(hosts, (host) => {
        expect(URL.canParse(`https://${host}/`)).toBe(true);
        expect(isOk(host)).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  it("accepts every other address however it is written", () => {
    const hosts = fc.oneof(
      within([0n, 0], 32)
        .filter((address) => !isIn(SPECIAL_V4, 32, address))
        .chain(spelledV4),
      within([v6("2000"), 3], 128)
        .filter((address) => !isIn(SPECIAL_V6, 128, address))
        .chain(spelledV6),
    );
    fc.assert(
      fc.property(hosts, (host) => isOk(host)),
      { numRuns: 2000 },
    );
  });

  it("never throws, and what it accepts is https: to a public host without credentials", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const verdict = checkCallbackUrl(text, policy);
        if (!verdict.ok) return;
        const { protocol, username, password, hostname, href } = verdict.value;
        expect({ protocol, username, password }).toEqual({
          protocol: "https:",
          username: "",
          password: "",
        });
        expect(isPublicHost(hostname)).toBe(true);
        expect(hostname).not.toMatch(/^relay\.example\.com\.?$/);
        expect(href.length).toBeLessThanOrEqual(2048);
      }),
      { numRuns: 5000 },
    );
  });

  it("accepts again what it accepted, by its href", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const verdict = checkCallbackUrl(text, policy);
        if (verdict.ok) expect(checkCallbackUrl(verdict.value.href, policy)).toEqual(verdict);
      }),
      { numRuns: 5000 },
    );
  });

  it("judges enough accepted URLs for the two properties above to mean something", () => {
    const texts = fc.sample(anyText, { numRuns: 2000, seed: 1 });
    expect(texts.filter((text) => checkCallbackUrl(text, policy).ok).length).toBeGreaterThan(200);
  });
});

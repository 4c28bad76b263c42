import * as fc from "fast-check";
import { expect, it } from "vitest";
import { clientNetwork, isGlobalUnicast } from "../../src/security/ip-address.ts";

it.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::", "2001:db8:1:2::/64"],
  ["::1", "::/64"],
])(
  "the relay counts requests with wrong credentials for each IPv4 address and each /64 network of IPv6 addresses: those from %j under %j",
  (address, network) => {
    expect(clientNetwork(address)).toBe(network);
  },
);

it.each(["192.0.2.7, 192.0.2.8", "192.0.2.256", "3221225991", "::1]/", "1:2:3", ""])(
  "the relay counts requests with wrong credentials whose address is no IP address, for example %j, together under no address",
  (address) => {
    expect(clientNetwork(address)).toBeNull();
  },
);

/**
 * Ranges of addresses that are not global unicast, by the IANA registries of special-purpose addresses
 * (https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry)
 * and of multicast addresses.
 */
const SPECIAL_RANGES = [
  ["0.0.0.0/8", "this network, RFC 791"],
  ["10.0.0.0/8", "private, RFC 1918"],
  ["100.64.0.0/10", "shared by carriers, RFC 6598"],
  ["127.0.0.0/8", "loopback, RFC 1122"],
  ["169.254.0.0/16", "link-local, RFC 3927"],
  ["172.16.0.0/12", "private, RFC 1918"],
  ["192.0.0.0/24", "IETF protocols, RFC 6890"],
  ["192.0.2.0/24", "documentation, RFC 5737"],
  ["192.31.196.0/24", "AS112, RFC 7535"],
  ["192.52.193.0/24", "AMT, RFC 7450"],
  ["192.88.99.0/24", "6to4 relays, RFC 7526"],
  ["192.168.0.0/16", "private, RFC 1918"],
  ["192.175.48.0/24", "AS112, RFC 7534"],
  ["198.18.0.0/15", "benchmarks, RFC 2544"],
  ["198.51.100.0/24", "documentation, RFC 5737"],
  ["203.0.113.0/24", "documentation, RFC 5737"],
  ["224.0.0.0/3", "multicast, RFC 5771; reserved, RFC 1112"],
  ["0000:0000/3", "loopback, mapped IPv4, NAT64 and unassigned, RFC 4291 and RFC 6052"],
  ["2001:0000/23", "Teredo and other IETF protocols, RFC 2928"],
  ["2001:0db8/32", "documentation, RFC 3849"],
  ["2002:0000/16", "6to4, RFC 3056"],
  ["2620:004f:8000/48", "AS112, RFC 7534"],
  ["3fff:0000/20", "documentation, RFC 9637"],
  ["4000:0000/2", "unassigned, RFC 4291"],
  ["8000:0000/1", "unassigned, local, link-local and multicast, RFC 4291 and RFC 4193"],
] as const;

/** Addresses from `first` to `last`, as numbers of `bits` bits. */
interface Range {
  readonly bits: 32 | 128;
  readonly first: bigint;
  readonly last: bigint;
}

function rangeOf(text: string): Range {
  const [start = "", length] = text.split("/");
  const isIPv4 = start.includes(".");
  const bits = isIPv4 ? 32 : 128;
  const digits = isIPv4
    ? start.split(".").map((part) => Number(part).toString(16).padStart(2, "0"))
    : start.split(":");
  const first = BigInt(`0x${digits.join("").padEnd(bits / 4, "0")}`);
  return { bits, first, last: first + (1n << BigInt(bits - Number(length))) - 1n };
}

/** Returns an address as WHATWG URL writes it as the host of a URL. */
function hostOf(address: bigint, bits: Range["bits"]): string {
  const groups = address.toString(16).padStart(32, "0").match(/.{4}/g) ?? [];
  return new URL(`http://${bits === 32 ? String(address) : `[${groups.join(":")}]`}`).hostname;
}

const RANGES = SPECIAL_RANGES.map(([text]) => rangeOf(text));
const isSpecial = (address: bigint, bits: Range["bits"]) =>
  RANGES.some((range) => range.bits === bits && range.first <= address && address <= range.last);

it.each(SPECIAL_RANGES)(
  "isGlobalUnicast takes no IP address in %s for public (%s), but an address just outside this range, unless it is in another special range",
  (text) => {
    const { bits, first, last } = rangeOf(text);
    for (const address of [first, (first + last) / 2n, last]) {
      expect(isGlobalUnicast(hostOf(address, bits))).toBe(false);
    }
    for (const address of [first - 1n, last + 1n]) {
      if (address < 0n || address >> BigInt(bits) > 0n) continue;
      expect(isGlobalUnicast(hostOf(address, bits))).toBe(!isSpecial(address, bits));
    }
  },
);

it("isGlobalUnicast takes a random IP address for public exactly when it is in none of the special ranges", () => {
  const globalIPv6 = fc
    .bigInt({ min: 0n, max: (1n << 125n) - 1n })
    .map((low) => (1n << 125n) + low);
  const drawn = fc.oneof(
    fc.tuple(fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }), fc.constant(32 as const)),
    fc.tuple(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), fc.constant(128 as const)),
    fc.tuple(globalIPv6, fc.constant(128 as const)),
  );
  fc.assert(
    fc.property(drawn, ([address, bits]) => {
      expect(isGlobalUnicast(hostOf(address, bits))).toBe(!isSpecial(address, bits));
    }),
    { seed: 20_261_121, numRuns: 5_000 },
  );
});

it.each([
  ["http://0x7f.1", false],
  ["http://0177.0.0.1", false],
  ["http://2130706433", false],
  ["http://127.1", false],
  ["http://[::ffff:8.8.8.8]", false],
  ["http://[::127.0.0.1]", false],
  ["http://[64:ff9b::8.8.8.8]", false],
  ["http://[2606:4700:0:0:0:0:0:1111]", true],
  ["http://0x08080808", true],
  ["http://010.8.8.8", true],
])(
  "isGlobalUnicast, which tells whether a URL's host is a public IP address, also understands unusual spellings of addresses: for %s it returns %s",
  (url, expected) => {
    expect(isGlobalUnicast(new URL(url).hostname)).toBe(expected);
  },
);

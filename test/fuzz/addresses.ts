/**
 * A range of IP addresses. The ranges below are the special ones of the IANA registries, listed without the
 * relay's code.
 */
type Cidr = readonly [first: bigint, length: number];

const v4 = (a: number, b = 0, c = 0): bigint => BigInt(((a * 256 + b) * 256 + c) * 256);
const v6 = (...groups: readonly number[]): bigint =>
  Array.from({ length: 8 }, (_, i) => BigInt(groups[i] ?? 0)).reduce(
    (address, group) => (address << 16n) | group,
    0n,
  );

export const SPECIAL_V4: readonly Cidr[] = [
  [v4(0), 8],
  [v4(10), 8],
  [v4(100, 64), 10],
  [v4(127), 8],
  [v4(169, 254), 16],
  [v4(172, 16), 12],
  [v4(192, 0, 0), 24],
  [v4(192, 0, 2), 24],
  [v4(192, 31, 196), 24],
  [v4(192, 52, 193), 24],
  [v4(192, 88, 99), 24],
  [v4(192, 168), 16],
  [v4(192, 175, 48), 24],
  [v4(198, 18), 15],
  [v4(198, 51, 100), 24],
  [v4(203, 0, 113), 24],
  [v4(224), 3],
];

/** Special ranges within 2000::/3; outside of it no addresses are allocated. */
export const SPECIAL_V6: readonly Cidr[] = [
  [v6(0x2001), 23],
  [v6(0x2001, 0xdb8), 32],
  [v6(0x2002), 16],
  [v6(0x2620, 0x4f, 0x8000), 48],
  [v6(0x3fff), 20],
];
const GLOBAL_V6: Cidr = [v6(0x2000), 3];
/** Prefixes that carry an IPv4 address in their last 32 bits. */
export const CARRYING_V4: readonly bigint[] = [
  0n,
  v6(0, 0, 0, 0, 0, 0xffff),
  v6(0, 0, 0, 0, 0xffff),
  v6(0x64, 0xff9b),
  v6(0x64, 0xff9b, 1),
];

function isIn([first, length]: Cidr, address: bigint, bits: number): boolean {
  const rest = BigInt(bits - length);
  return address >> rest === first >> rest;
}

const RFC_6762_G = ["intranet", "internal", "private", "corp", "home", "lan"];
const PRIVATE_ZONES = [...RFC_6762_G, "localhost", "localdomain", "local", "onion", "arpa"];

/** Returns whether a client may have the relay call this host, which is spelled as `URL` spells it. */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/\.$/, "");
  if (host.startsWith("[")) return isPublicV6(groupsOf(host.slice(1, -1)));
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) {
    const address = host.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
    return !SPECIAL_V4.some((range) => isIn(range, address, 32));
  }
  const labels = host.split(".");
  const isPrivate = PRIVATE_ZONES.includes(labels.at(-1) ?? "");
  return labels.length > 1 && !labels.includes("") && !isPrivate;
}

function isPublicV6(address: bigint): boolean {
  return isIn(GLOBAL_V6, address, 128) && !SPECIAL_V6.some((range) => isIn(range, address, 128));
}

/** Parses the normal form of an IPv6 address, which has no dotted part. */
function groupsOf(text: string): bigint {
  const [head = "", tail] = text.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...(tail === undefined ? [] : zeros), ...right].reduce(
    (address, group) => (address << 16n) | BigInt(`0x${group}`),
    0n,
  );
}

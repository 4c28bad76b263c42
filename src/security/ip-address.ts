const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;
/** IPv4 addresses that are not global unicast, by the IANA registries of special-purpose and multicast addresses. */
const SPECIAL_IPV4 = prefixesOf(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 " +
    "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 " +
    "198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
);
/**
 * IPv6 addresses within `UNICAST_IPV6` that are nevertheless not global unicast, by the IANA registries of
 * special-purpose and multicast addresses.
 */
const SPECIAL_IPV6 = prefixesOf("2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20");
/** IPv6 addresses that IANA assigns to global unicast. */
const UNICAST_IPV6 = prefixesOf("2000::/3");
/** IPv6 addresses that stand for IPv4 addresses. */
const MAPPED_IPV4 = prefixesOf("::ffff:0:0/96");

/** Tells whether the host of a URL, as WHATWG URL writes it, is an IP address. */
export function isIpHost(host: string): boolean {
  return host.startsWith("[") || IPV4.test(host);
}

/** Tells whether an IP address, which is the host of a URL, is global unicast. */
export function isGlobalUnicast(host: string): boolean {
  const bits = bitsOf(withoutBrackets(host));
  if (IPV4.test(host)) return !isIn(SPECIAL_IPV4, bits);
  return isIn(UNICAST_IPV6, bits) && !isIn(SPECIAL_IPV6, bits);
}

/**
 * Returns the network by which the sender of requests is recognised: its IPv4 address, or the first 64 bits of
 * its IPv6 address, because a single sender usually has all addresses that begin so. Null when the text is no
 * IP address.
 */
export function clientNetwork(address: string): string | null {
  if (!/^[\d.]+$|^[\da-f:.]+$/i.test(address)) return null;
  const text = address.includes(":") ? `[${address}]` : address;
  const host = URL.parse(`http://${text}`)?.hostname ?? "";
  if (host === address && IPV4.test(host)) return host;
  if (!host.startsWith("[")) return null;
  const bits = bitsOf(withoutBrackets(host));
  if (isIn(MAPPED_IPV4, bits)) return partsOf(bits.slice(96), 8).join(".");
  const network = partsOf(bits.slice(0, 64), 16).map((part) => part.toString(16));
  return `${withoutBrackets(new URL(`http://[${network.join(":")}::]`).hostname)}/64`;
}

function withoutBrackets(host: string): string {
  return host.replaceAll(/[[\]]/g, "");
}

/** Returns the bits that all addresses of a range begin with, for each of some ranges, as texts of 0 and 1. */
function prefixesOf(ranges: string): readonly string[] {
  return ranges.split(" ").map((range) => {
    const [address = "", length] = range.split("/");
    return bitsOf(address).slice(0, Number(length));
  });
}

function isIn(prefixes: readonly string[], bits: string): boolean {
  return prefixes.some((prefix) => bits.startsWith(prefix));
}

/** Returns the bits of an address, as WHATWG URL writes it, as a text of 0 and 1. */
function bitsOf(address: string): string {
  if (IPV4.test(address)) return textOf(address.split("."), 10, 8);
  const [left = [], right = []] = address
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return textOf([...left, ...zeros, ...right], 16, 16);
}

function textOf(parts: readonly string[], radix: number, bits: number): string {
  return parts.map((part) => Number.parseInt(part, radix).toString(2).padStart(bits, "0")).join("");
}

function partsOf(bits: string, length: number): readonly number[] {
  return Array.from({ length: bits.length / length }, (_, at) =>
    Number.parseInt(bits.slice(at * length, (at + 1) * length), 2),
  );
}

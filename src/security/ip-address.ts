import ipaddr from "ipaddr.js";

/**
 * Range of IPv6 addresses that IANA has assigned to global unicast (public addresses). It is checked too, because
 * ipaddr.js also treats unassigned addresses as unicast.
 */
const UNICAST_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");
/** Number of bytes of an IPv6 address that identify its network. */
const NETWORK_BYTES = 8;

/** Tells whether the host of a URL is an IP address. The host must be written as WHATWG URL writes it. */
export function isIpHost(host: string): boolean {
  return host.startsWith("[") || ipaddr.IPv4.isValidFourPartDecimal(host);
}

/** Tells whether an IP address is global unicast, i.e. a public address. The address is given as the host of a URL. */
export function isGlobalUnicast(host: string): boolean {
  const address = ipaddr.parse(host.replaceAll(/[[\]]/g, ""));
  if (address.range() !== "unicast") return false;
  return address instanceof ipaddr.IPv4 || address.match(UNICAST_IPV6);
}

/**
 * Returns the network by which the relay recognises the sender of requests. It is the whole IPv4 address, or the first
 * 64 bits of the IPv6 address, because one sender usually has all addresses with the same 64 bits. Null when the text
 * is no IP address.
 */
export function clientNetwork(address: string): string | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return address;
  if (!ipaddr.IPv6.isValid(address)) return null;
  const sender = ipaddr.IPv6.parse(address);
  if (sender.isIPv4MappedAddress()) return sender.toIPv4Address().toString();
  const network = sender.toByteArray().fill(0, NETWORK_BYTES);
  return `${new ipaddr.IPv6(network).toRFC5952String()}/64`;
}

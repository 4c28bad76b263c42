import ipaddr from "ipaddr.js";

/**
 * Returns the network by which the sender of requests is recognised: its IPv4 address, or the first 64 bits of
 * its IPv6 address, because a single sender usually has all addresses that begin so. Null when the text is no
 * IP address.
 */
export function clientNetwork(address: string): string | null {
  if (!ipaddr.isValid(address)) return null;
  const ip = ipaddr.process(address);
  if (ip instanceof ipaddr.IPv4) return ip.toString();
  const network = new ipaddr.IPv6([...ip.parts.slice(0, 4), 0, 0, 0, 0]);
  return `${network.toString()}/64`;
}

import * as fc from "fast-check";
import ipaddr from "ipaddr.js";
import { expect, it } from "vitest";
import { clientNetwork, isGlobalUnicast } from "../../src/security/ip-address.ts";

it.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::", "2001:db8:1:2::/64"],
  ["::1", "::/64"],
])(
  "failed credentials in requests from the address %j are counted under the network %j",
  (address, network) => {
    expect(clientNetwork(address)).toBe(network);
  },
);

it.each(["192.0.2.7, 192.0.2.8", "192.0.2.256", "3221225991", "::1]/", "1:2:3", ""])(
  "failed credentials in requests from %j, which is no IP address, are counted together with those of all unreadable addresses",
  (address) => {
    expect(clientNetwork(address)).toBeNull();
  },
);

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
/** Generator of addresses, many of which begin like a special range. */
const addresses = fc
  .oneof(
    bytes(4).map((drawn) => [...drawn]),
    bytes(16).map((drawn) => [...drawn]),
    fc.tuple(fc.constantFrom(0x20, 0x26, 0x3f), bytes(15)).map(([first, rest]) => [first, ...rest]),
  )
  .map((drawn) => ipaddr.fromByteArray(drawn));
const GLOBAL = ipaddr.IPv6.parseCIDR("2000::/3");

it("isGlobalUnicast agrees with the package ipaddr.js on every IP address, except that it accepts IPv6 addresses only within 2000::/3", () => {
  fc.assert(
    fc.property(addresses, (address) => {
      const isIPv6 = address instanceof ipaddr.IPv6;
      const { hostname } = new URL(
        `http://${isIPv6 ? `[${address.toString()}]` : address.toString()}`,
      );
      const expected = address.range() === "unicast" && (!isIPv6 || address.match(GLOBAL));
      expect(isGlobalUnicast(hostname)).toBe(expected);
    }),
    { numRuns: 5_000 },
  );
});

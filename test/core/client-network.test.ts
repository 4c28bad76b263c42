import { expect, it } from "vitest";
import { clientNetwork } from "../../src/security/client-network.ts";

it.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::", "2001:db8:1:2::/64"],
  ["::1", "::/64"],
  ["192.0.2.7, 192.0.2.8", null],
  ["", null],
])(
  "failed credentials in requests from the address %j are counted under the network %j",
  (address, network) => {
    expect(clientNetwork(address)).toBe(network);
  },
);

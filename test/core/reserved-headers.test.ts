import { expect, it } from "vitest";
import { isReservedHeader } from "../../src/security/reserved-headers.ts";

it.each(["Host", "Content-Length", "Transfer-Encoding", "Proxy-Authorization", "CF-Ray", "TE"])(
  "an endpoint may not have the header %s",
  (name) => {
    expect(isReservedHeader(name)).toBe(true);
  },
);

it.each(["Authorization", "X-Relay-Token", "Cookie", "X-Api-Key"])(
  "an endpoint may have the header %s",
  (name) => {
    expect(isReservedHeader(name)).toBe(false);
  },
);

import { expect, it } from "vitest";
import { likelyCauseOf } from "../../../src/console/host/host-causes.ts";

it.each([
  [521, /Nothing listens at the port/],
  [522, /does not answer/],
  [525, /TLS handshake fails/],
  [526, /certificate is not valid: expired/],
  [530, /leads to no address/],
  [403, /IP address/],
  [523, /^No connection:/],
  [null, /^No connection:/],
])(
  "the page of a host names the cause of attempts that were unreachable with the status %j",
  (status_code, text) => {
    expect(likelyCauseOf({ outcome: "unreachable", status_code }).text).toMatch(text);
  },
);

it("the page of a host does not take the status 403 of an attempt that was rejected for a host that could not be reached", () => {
  const { text } = likelyCauseOf({ outcome: "rejected", status_code: 403 });
  expect(text).toMatch(/refuses the callback/);
});

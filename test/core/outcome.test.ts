import { expect, it } from "vitest";
import {
  causeOf,
  cloudflareErrorOf,
  outcomeOfAnswer,
  OUTCOMES,
} from "../../src/core/record/outcome.ts";

it("outcomeOfAnswer calls 2xx delivered, 3xx redirected, 524 timeout, 520–523, 525, 526 and 530 unreachable, and any other HTTP status rejected", () => {
  const redirected = Array.from({ length: 100 }, (_, i) => 300 + i);
  const delivered = Array.from({ length: 100 }, (_, i) => 200 + i);
  const statuses = Array.from({ length: 1000 }, (_, status) => status);
  const having = (outcome: string) =>
    statuses.filter((status) => outcomeOfAnswer(status, null) === outcome);

  expect(having("delivered")).toEqual(delivered);
  expect(having("redirected")).toEqual(redirected);
  expect(having("timeout")).toEqual([524]);
  expect(having("unreachable")).toEqual([520, 521, 522, 523, 525, 526, 530]);
  expect(having("rejected")).toHaveLength(1000 - 200 - 1 - 7);
});

const DEAD = [1000, 1001, 1002, 1003, 1004, 1016, 1033, 1042];

it.each([403, 409, 530])(
  "outcomeOfAnswer calls a receiver unreachable for eight of Cloudflare's error codes in an answer 403 or 409, and for all of them in an answer 530: here in an answer %i",
  (status) => {
    const codes = Array.from({ length: 1000 }, (_, i) => 1000 + i);
    const dead = codes.filter((code) => {
      const error = cloudflareErrorOf(status, `error code: ${code}`);
      expect(error).toBe(code);
      return outcomeOfAnswer(status, error) === "unreachable";
    });
    expect(dead).toEqual(status === 530 ? codes : DEAD);
  },
);

it.each([
  [403, "<p>Error code: 1003\n</p>", 1003],
  [403, "error code: 10031", null],
  [403, "error code: 2003", null],
  [403, "code: 1003", null],
  [403, "", null],
  [409, null, null],
  [404, "error code: 1003", null],
  [500, "error code: 1003", null],
  [200, "error code: 1003", null],
])(
  "cloudflareErrorOf reads Cloudflare's error code (1000 to 1999) only from an answer 403, 409 or 530: from the status %i with the body %j it reads %j",
  (status, body, code) => {
    expect(cloudflareErrorOf(status, body)).toBe(code);
  },
);

it.each([
  ["unreachable", 521, null, "refused"],
  ["unreachable", 525, null, "tls"],
  ["unreachable", 526, null, "tls"],
  ["unreachable", 530, 1016, "dns"],
  ["unreachable", 409, 1001, "dns"],
  ["unreachable", 530, 1033, "other"],
  ["unreachable", 523, null, "other"],
  ["unreachable", 403, 1000, "forbidden"],
  ["unreachable", 409, 1002, "forbidden"],
  ["unreachable", 403, 1003, "forbidden"],
  ["unreachable", 530, 1003, "forbidden"],
  ["unreachable", 403, 1004, "other"],
  ["unreachable", null, null, "other"],
  ["rejected", 521, null, null],
] as const)(
  "a callback attempt with the outcome %s, the HTTP status %j and Cloudflare's error code %j has the cause %j",
  (outcome, statusCode, cloudflareError, cause) => {
    expect(causeOf({ outcome, statusCode, cloudflareError, cause: null })).toBe(cause);
  },
);

it("a callback attempt with the outcome unreachable has the cause that was recorded with it, such as no_listener", () => {
  const told = { statusCode: null, cloudflareError: null, cause: "no_listener" } as const;
  expect(causeOf({ outcome: "unreachable", ...told })).toBe("no_listener");
});

it("the list OUTCOMES has exactly the documented words for the outcome of a callback attempt", () => {
  expect(OUTCOMES).toEqual([
    "delivered",
    "rejected",
    "redirected",
    "timeout",
    "unreachable",
    "blocked",
    "interrupted",
  ]);
});

import { describe, expect, it } from "vitest";
import { startedDelivery } from "../../src/core/duties/callback-attempt.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import {
  type AskedEndpoint,
  type ChosenEndpoint,
  endpointIn,
  endpointUrl,
} from "../../src/core/record/endpoint-copy.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aCreation,
  aFailure,
  anEndAs,
  aPolicy,
  aRedelivery,
  aRegistration,
  aReport,
  callbackOf,
  HOUR,
  NOW,
  POLICY,
  SECOND,
  URL_A,
  URL_B,
} from "./builders.ts";
import { apply } from "./decisions.ts";

const COPY = {
  name: "orders",
  headers: { names: ["Authorization"], sealedWith: "secret-1", nonce: "n", ciphertext: "c" },
  secret: { id: "one", generation: 2 },
} as const;
const ORDERS: ChosenEndpoint = { url: URL_B, scheduleMs: [0, 7 * SECOND], copy: COPY };
const ASKED: AskedEndpoint = { kind: "known", ...ORDERS };
/** The same endpoint after its secret was changed. */
const CHANGED: AskedEndpoint & ChosenEndpoint = {
  kind: "known",
  ...ORDERS,
  copy: { ...COPY, secret: { id: "two", generation: 3 } },
};
const UNKNOWN: AskedEndpoint = { kind: "unknown", field: "/callback_url" };
const NAMED = endpointUrl("orders");

function registered(endpoint: AskedEndpoint = ASKED, changes: object = {}): TaskRecord {
  const event = { ...aRegistration({ callbackUrl: NAMED, ...changes }), endpoint };
  return apply(null, event);
}

/** Builds an order for a redelivery to the endpoint. */
function order(changes: object = {}) {
  return aRedelivery({ callbackUrl: NAMED, endpoint: ASKED, ...changes });
}

/** Completes a task, and returns the callback. */
function completed(record: TaskRecord) {
  return callbackOf(apply(record, aReport(aCompletion())));
}

/** Returns a task whose automatic attempts to a URL have failed. */
function failed(): TaskRecord {
  const policy = aPolicy({ scheduleMs: [0] });
  const sent = apply(null, aReport(aCompletion(), aCreation()), NOW, policy);
  return apply(sent, anEndAs(1, "rejected"), NOW, policy);
}

it("the callback URL that stands for the endpoint orders is endpoint:orders", () => {
  expect(endpointUrl("orders")).toBe("endpoint:orders");
});

/** Returns a task whose only automatic attempt to the endpoint has failed. */
function undelivered(): TaskRecord {
  const open = registered({ kind: "known", ...ORDERS, scheduleMs: [0] });
  return apply(apply(open, aReport(aCompletion())), anEndAs(1, "rejected"));
}

it.each([
  ["endpoint:orders", "orders"],
  ["endpoint:", ""],
  ["https://a.example/endpoint:b", null],
])("the callback URL %s names the endpoint %j", (text, name) => {
  expect(endpointIn(text)).toBe(name);
});

describe("a task with an endpoint", () => {
  it("a registered task takes URL, waits, headers, events and secret of its endpoint into its record, and its callback keeps them", () => {
    const open = registered();
    expect(open).toMatchObject({
      callbackUrl: URL_B,
      callbackTerms: { scheduleMs: [0, 7 * SECOND], endpoint: COPY },
      registration: { callbackUrl: NAMED },
    });
    expect(completed(open)).toMatchObject({
      url: URL_B,
      terms: { scheduleMs: [0, 7 * SECOND], endpoint: COPY },
    });
    expect(parseRecord(structuredClone(open))).toEqual(open);
  });

  it("a task that an event creates takes them too", () => {
    const creation = aCreation({ callbackUrl: NAMED, endpoint: ASKED });
    const callback = callbackOf(apply(null, aReport(aCompletion(), creation)));
    expect(callback).toMatchObject({ url: URL_B, terms: { endpoint: COPY } });
  });

  it("the waits that a task states for itself take precedence over those of its endpoint", () => {
    const open = registered(ASKED, { callbackScheduleMs: [5 * SECOND] });
    expect(completed(open)).toMatchObject({ terms: { scheduleMs: [5 * SECOND] } });
  });

  it("each attempt is sent with the copy of the endpoint", () => {
    const open = registered();
    const ended = apply(open, aReport(aCompletion()));
    expect(startedDelivery(open, ended)).toMatchObject({ url: URL_B, endpoint: COPY });
  });

  it.each([
    ["completed", ["failed"], aCompletion(), false],
    ["completed", ["completed", "progress"], aCompletion(), true],
    ["failed", ["completed"], aFailure(), false],
    ["failed", ["failed"], aFailure(), true],
  ] as const)(
    "a task that ends as %s, with an endpoint of the events %j, has a callback only if its end is among them",
    (_status, events, result, isTold) => {
      const open = registered({ ...ASKED, events });
      const ended = apply(open, aReport(result));
      expect(isTerminal(ended) && ended.callback !== null).toBe(isTold);
    },
  );

  it("an unknown endpoint is rejected for a new task, and does not matter for one that exists", () => {
    const rejection = { code: "unknown_endpoint", field: "/callback_url" };
    const registration = { ...aRegistration({ callbackUrl: NAMED }), endpoint: UNKNOWN };
    const creation = aCreation({ callbackUrl: NAMED, endpoint: UNKNOWN });
    for (const event of [registration, aReport(aCompletion(), creation)]) {
      expect(transition(null, event, POLICY, NOW)).toEqual({ kind: "reject", rejection });
    }
    expect(transition(registered(), registration, POLICY, NOW).kind).toBe("unchanged");
    const report = aReport(aCompletion(), creation);
    expect(transition(registered(), report, POLICY, NOW).kind).toBe("changed");
  });
});

describe("a redelivery to an endpoint", () => {
  it("a redelivery to an endpoint goes there with its copy and after its waits, and past attempts keep their URL", () => {
    const callback = callbackOf(apply(failed(), order({ attempts: 2 }), NOW + HOUR));
    expect(callback).toMatchObject({
      url: URL_B,
      terms: { scheduleMs: [0, 7 * SECOND], endpoint: COPY },
      attempts: [{ url: URL_A }],
    });
  });

  it("a redelivery to another URL has neither headers nor secret of the endpoint; one to the same URL has them", () => {
    const settled = undelivered();
    const redelivered = (callbackUrl: string | null) =>
      callbackOf(apply(settled, aRedelivery({ callbackUrl }), NOW + HOUR));
    expect(redelivered(URL_A)).toMatchObject({ url: URL_A, terms: { scheduleMs: [0] } });
    expect(redelivered(URL_A).terms).not.toHaveProperty("endpoint");
    expect(redelivered(URL_B)).toMatchObject({ terms: { endpoint: COPY } });
    expect(redelivered(null)).toMatchObject({ terms: { endpoint: COPY } });
  });

  const { headers, ...plain } = COPY;
  it.each([
    ["headers and a secret", COPY, { ...plain, headers: { names: headers.names } }],
    [
      "headers alone",
      { name: "orders", headers },
      { name: "orders", headers: { names: headers.names } },
    ],
    ["a secret alone", plain, plain],
    ["neither headers nor a secret", { name: "orders" }, { name: "orders" }],
  ])(
    "after a redelivery to another URL, a past attempt to an endpoint with %s is stored with the endpoint, but without the values of its headers",
    (_what, copy, endpoint) => {
      const sent = apply(registered({ ...ASKED, copy }), aReport(aCompletion()));
      const settled = apply(sent, anEndAs(1, "delivered"));
      const moved = apply(settled, aRedelivery({ callbackUrl: URL_A }), NOW + HOUR);
      expect(callbackOf(moved).attempts.map((each) => each.endpoint)).toStrictEqual([endpoint]);
      expect(parseRecord(structuredClone(moved))).toEqual(moved);
    },
  );

  it("during a pause the waiting attempt goes to the endpoint, and a repeated order changes nothing", () => {
    const first = apply(registered(), aReport(aCompletion()));
    const waiting = apply(first, anEndAs(1, "rejected"));
    const other = { ...ASKED, url: URL_A, copy: { name: "other" } } as const;
    const paused = aPolicy({ pausedAt: NOW });
    const joined = apply(waiting, order({ endpoint: other }), NOW, paused);
    expect(callbackOf(joined)).toMatchObject({
      url: URL_A,
      terms: { endpoint: other.copy },
      state: callbackOf(waiting).state,
    });
    const again = transition(joined, order({ endpoint: other }), paused, NOW);
    expect(again.kind).toBe("unchanged");
  });

  it("during a pause the waiting attempt gets the present headers and secret of its endpoint by a redelivery to this endpoint", () => {
    const ended = apply(registered(), aReport(aCompletion()));
    const waiting = apply(ended, anEndAs(1, "rejected"));
    const paused = aPolicy({ pausedAt: NOW });
    const joined = apply(waiting, order({ endpoint: CHANGED }), NOW, paused);
    expect(callbackOf(joined)).toMatchObject({ url: URL_B, terms: { endpoint: CHANGED.copy } });
  });

  it("past attempts to an endpoint keep the names of their headers, and which secret signed them, when a redelivery goes to the same URL with another secret", () => {
    const callback = callbackOf(apply(undelivered(), order({ endpoint: CHANGED }), NOW + HOUR));
    const past = { name: "orders", headers: { names: ["Authorization"] }, secret: COPY.secret };
    expect(callback.terms).toMatchObject({ endpoint: CHANGED.copy });
    expect(callback.attempts).toMatchObject([{ url: URL_B, endpoint: past }]);
  });

  it("past attempts to an endpoint are stored without another receiver when a redelivery goes to the same endpoint unchanged", () => {
    const callback = callbackOf(apply(undelivered(), order(), NOW + HOUR));
    expect(callback.attempts).toMatchObject([{ url: null }]);
    expect(callback.attempts[0]).not.toHaveProperty("endpoint");
  });

  it("a redelivery to another URL of a callback without terms stores none", () => {
    const callback = callbackOf(apply(failed(), aRedelivery({ callbackUrl: URL_B }), NOW + HOUR));
    expect(callback.url).toBe(URL_B);
    expect(callback).not.toHaveProperty("terms");
  });

  it("an order under the same key starts nothing, and conflicts when it names another receiver", () => {
    const keyed = { idempotencyKey: "k" };
    const ordered = apply(failed(), order(keyed));
    const again = (changes: object) =>
      transition(ordered, order({ ...keyed, ...changes }), POLICY, NOW);
    expect(again({ endpoint: UNKNOWN }).kind).toBe("unchanged");
    expect(again({ callbackUrl: endpointUrl("b") })).toMatchObject({
      rejection: { code: "idempotency_key_reused" },
    });
  });

  it("an order to an endpoint that does not exist is rejected", () => {
    const unknown = order({ endpoint: { kind: "unknown", field: "/endpoint" } });
    expect(transition(failed(), unknown, POLICY, NOW)).toEqual({
      kind: "reject",
      rejection: { code: "unknown_endpoint", field: "/endpoint" },
    });
  });
});

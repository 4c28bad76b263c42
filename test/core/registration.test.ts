import { describe, expect, it } from "vitest";
import type { RegisterEvent } from "../../src/core/events/event.ts";
import { transition } from "../../src/core/transition.ts";
import {
  ACCOUNT,
  aCallback,
  aCompletion,
  aCreation,
  aFinishedTask,
  anOpenTask,
  aRegistration,
  aReport,
  HOUR,
  ID,
  MODEL,
  NOW,
  ORIGIN,
  POLICY,
  URL_A,
  URL_B,
  NEW_ROW,
} from "./builders.ts";
import { aUsageSettledRegistration, PRICE_RULE } from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged } from "./decisions.ts";

const later = NOW + HOUR;

describe("a registration of a task", () => {
  it("a registration creates a pending task that stores everything that was registered", () => {
    const registration = {
      callbackUrl: URL_A,
      provider: "ark",
      parameters: { prompt: "a cat" },
      metadata: { order: 7 },
      deadlineAt: NOW + HOUR,
      accountId: "acme",
      credits: null,
    };
    const event = aRegistration({ account: ACCOUNT, keyName: "alice", ...registration });
    expect(transition(null, event, POLICY, NOW)).toEqual({
      kind: "changed",
      record: {
        v: 2,
        version: NOW,
        id: ID,
        model: MODEL,
        account: ACCOUNT,
        upstream: { connection: "ark", job: null },
        indexRow: { version: 0, outdatedAt: NOW, hasFailed: false },
        counts: { hooks: 0, polls: 0 },
        keyNames: { registeredBy: "alice", attachedBy: null, reportedBy: null },
        createdAt: NOW,
        recordedAt: NOW,
        origin: ORIGIN,
        registration,
        submission: null,
        cancellation: null,
        credits: null,
        status: "pending",
        callbackUrl: URL_A,
        deadlineAt: NOW + HOUR,
        tracking: { poll: null, keptHooks: [], isExtended: false, told: [], refusedHooks: [] },
        notices: [],
      },
    });
  });

  it("a registration without a deadline gets the default deadline of the configuration", () => {
    const record = apply(null, aRegistration());
    expect(record).toEqual(anOpenTask({ indexRow: NEW_ROW, deadlineAt: NOW + 72 * HOUR }));
  });

  it("a registration without a callback URL creates a task without a callback", () => {
    const event = aRegistration({ callbackUrl: null });
    expect(apply(null, event)).toEqual(
      anOpenTask({ indexRow: NEW_ROW, callbackUrl: null, registration: event.registration }),
    );
  });

  it.each([
    ["the present time", NOW],
    ["in the past", NOW - 1],
    ["more than 365 days ahead", NOW + 365 * 86_400_000 + 1],
  ])("a registration is refused when its deadline is %s", (_what, deadlineAt) => {
    expect(transition(null, aRegistration({ deadlineAt }), POLICY, NOW)).toEqual({
      kind: "reject",
      rejection: {
        code: "invalid_field",
        field: "/deadline_at",
        message: "must be in the future, at most 365 days ahead",
      },
    });
  });

  it("a registration may state a deadline 365 days ahead", () => {
    const deadlineAt = NOW + 365 * 86_400_000;
    const record = apply(null, aRegistration({ deadlineAt }));
    expect(record).toMatchObject({ deadlineAt });
  });

  it("a registration may state a deadline that is only one millisecond ahead", () => {
    const event = aRegistration({ deadlineAt: NOW + 1 });
    expect(transition(null, event, POLICY, NOW).kind).toBe("changed");
  });

  it("when the id of an erased task is registered again, the new record has a higher version number than the erased one had", () => {
    const first = apply(null, aRegistration());
    const second = apply(null, aRegistration(), later);
    expect(second.version).toBeGreaterThan(first.version);
  });
});

describe("the same registration again", () => {
  const full = aRegistration({
    account: ACCOUNT,
    accountId: "acme",
    parameters: { prompt: "a cat", size: { w: 1, h: 2 } },
    metadata: { a: 1, b: [1, 2] },
    deadlineAt: NOW + HOUR,
    callbackEvents: ["completed"],
  });
  const record = apply(null, full);

  it("a registration that is sent again changes nothing, even after the deadline that it states", () => {
    expectUnchanged(record, full, NOW + 2 * HOUR);
  });

  it("a registration that is sent again is recognised whatever the order of its JSON members is", () => {
    const { callbackUrl, deadlineAt, callbackEvents } = full.registration;
    const shuffled: RegisterEvent = {
      ...full,
      registration: {
        deadlineAt,
        metadata: { b: [1, 2], a: 1 },
        parameters: { size: { h: 2, w: 1 }, prompt: "a cat" },
        callbackUrl,
        ...(callbackEvents && { callbackEvents }),
        provider: null,
        credits: null,
        accountId: "acme",
      },
    };
    expectUnchanged(record, shuffled, later);
  });

  it("a registration that is sent again under another host name of the relay is recognised", () => {
    const elsewhere = { ...full, origin: "https://other.example.com" };
    expectUnchanged(record, elsewhere, later);
  });

  it("a registration that is sent again after a rotation of the account's secret is recognised, and the task keeps the number of the earlier secret", () => {
    const rotated = { ...full, account: { id: "acme", generation: 4 } };
    expectUnchanged(record, rotated, later);
  });

  it.each([
    ["is already finished", aFinishedTask()],
    ["was redelivered to another URL", aFinishedTask({ callback: aCallback({ url: URL_B }) })],
  ])("a registration that is sent again does not change a task that %s", (_what, known) => {
    expectUnchanged(known, aRegistration(), later);
  });

  const others: Readonly<Record<string, RegisterEvent>> = {
    model: { ...full, model: "other" },
    account: { ...full, registration: { ...full.registration, accountId: "other" } },
    "account, which is now left out": {
      ...full,
      registration: { ...full.registration, accountId: null },
    },
    "price, which the first registration did not have": {
      ...full,
      registration: { ...full.registration, credits: 1 },
    },
    callback_url: { ...full, registration: { ...full.registration, callbackUrl: URL_B } },
    callback_events: {
      ...full,
      registration: { ...full.registration, callbackEvents: ["failed"] },
    },
    parameters: { ...full, registration: { ...full.registration, parameters: { prompt: "dog" } } },
    metadata: { ...full, registration: { ...full.registration, metadata: { a: 1, b: [2, 1] } } },
    "metadata, which is now left out": {
      ...full,
      registration: { ...full.registration, metadata: null },
    },
    deadline_at: { ...full, registration: { ...full.registration, deadlineAt: NOW + HOUR + 1 } },
  };

  it.each(Object.entries(others))(
    "a second registration of a task id is refused when it differs from the first in its %s",
    (_field, event) => {
      expectRefused(record, event, "task_exists", later);
    },
  );
});

describe("a registration with a price by usage again", () => {
  const priced = aUsageSettledRegistration();
  const record = apply(null, priced);

  it("a registration with a price by usage that is sent again changes nothing", () => {
    expectUnchanged(record, priced, later);
  });

  it.each([
    ["another price rule than the first", { ...PRICE_RULE, rate: 7 }],
    ["no price rule", undefined],
  ])(
    "a second registration of a task with a price by usage is refused when it has %s, although the charged credits are the same",
    (_, priceRule) => {
      const { priceRule: _known, ...others } = priced.registration;
      const registration = { ...others, ...(priceRule !== undefined && { priceRule }) };
      expectRefused(record, { ...priced, registration }, "task_exists", later);
    },
  );
});

describe("a registration for an id that an event created", () => {
  it("a registration is refused as a conflict when an event has already created a task with its id, even if both have the same content", () => {
    const created = apply(null, aReport(aCompletion(), aCreation()));
    expectRefused(created, aRegistration(), "task_exists", later);
  });
});

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
} from "./builders.ts";
import { apply, expectRefused, expectUnchanged } from "./decisions.ts";

const later = NOW + HOUR;

describe("register", () => {
  it("creates a pending task that carries all that was registered", () => {
    const registration = {
      callbackUrl: URL_A,
      provider: "ark",
      parameters: { prompt: "a cat" },
      metadata: { order: 7 },
      deadlineAt: NOW + HOUR,
      accountId: "acme",
      credits: null,
    };
    const event = aRegistration({ account: ACCOUNT, ...registration });
    expect(transition(null, event, POLICY, NOW)).toEqual({
      kind: "changed",
      record: {
        v: 1,
        version: NOW,
        id: ID,
        model: MODEL,
        account: ACCOUNT,
        upstream: { connection: "ark", job: null },
        publication: { version: 0, retryAt: 0, tries: 0 },
        createdAt: NOW,
        origin: ORIGIN,
        registration,
        credits: null,
        status: "pending",
        callbackUrl: URL_A,
        deadlineAt: NOW + HOUR,
        tracking: { poll: null, keptHooks: [], isExtended: false },
      },
    });
  });

  it("gives a task the configured deadline when none is asked for", () => {
    const record = apply(null, aRegistration());
    expect(record).toEqual(anOpenTask({ deadlineAt: NOW + 72 * HOUR }));
  });

  it("creates a task without a callback when no URL is given", () => {
    const event = aRegistration({ callbackUrl: null });
    expect(apply(null, event)).toEqual(
      anOpenTask({ callbackUrl: null, registration: event.registration }),
    );
  });

  it.each([
    ["this very moment", NOW],
    ["the past", NOW - 1],
    ["more than 365 days ahead", NOW + 365 * 86_400_000 + 1],
  ])("refuses a deadline that is %s", (_what, deadlineAt) => {
    expect(transition(null, aRegistration({ deadlineAt }), POLICY, NOW)).toEqual({
      kind: "reject",
      rejection: {
        code: "invalid_field",
        field: "/deadline_at",
        message: "must be in the future, at most 365 days ahead",
      },
    });
  });

  it("accepts a deadline 365 days ahead", () => {
    const deadlineAt = NOW + 365 * 86_400_000;
    const record = apply(null, aRegistration({ deadlineAt }));
    expect(record).toMatchObject({ deadlineAt });
  });

  it("accepts a deadline one millisecond ahead", () => {
    const event = aRegistration({ deadlineAt: NOW + 1 });
    expect(transition(null, event, POLICY, NOW).kind).toBe("changed");
  });

  it("gives a later life of the same id a higher version", () => {
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
  });
  const record = apply(null, full);

  it("changes nothing, also after the registered deadline", () => {
    expectUnchanged(record, full, NOW + 2 * HOUR);
  });

  it("is recognised whatever the order of its keys", () => {
    const { callbackUrl, deadlineAt } = full.registration;
    const shuffled: RegisterEvent = {
      ...full,
      registration: {
        deadlineAt,
        metadata: { b: [1, 2], a: 1 },
        parameters: { size: { h: 2, w: 1 }, prompt: "a cat" },
        callbackUrl,
        provider: null,
        credits: null,
        accountId: "acme",
      },
    };
    expectUnchanged(record, shuffled, later);
  });

  it("is recognised under another origin of the relay", () => {
    const elsewhere = { ...full, origin: "https://other.example.com" };
    expectUnchanged(record, elsewhere, later);
  });

  it("is recognised after the account rotated its secret, and keeps its generation", () => {
    const rotated = { ...full, account: { id: "acme", generation: 4 } };
    expectUnchanged(record, rotated, later);
  });

  it.each([
    ["is already finished", aFinishedTask()],
    ["was redelivered to another URL", aFinishedTask({ callback: aCallback({ url: URL_B }) })],
  ])("changes nothing of a task that %s", (_what, known) => {
    expectUnchanged(known, aRegistration(), later);
  });

  const others: Readonly<Record<string, RegisterEvent>> = {
    model: { ...full, model: "other" },
    account: { ...full, registration: { ...full.registration, accountId: "other" } },
    "account, now none": { ...full, registration: { ...full.registration, accountId: null } },
    "price, which had none": { ...full, registration: { ...full.registration, credits: 1 } },
    callback_url: { ...full, registration: { ...full.registration, callbackUrl: URL_B } },
    parameters: { ...full, registration: { ...full.registration, parameters: { prompt: "dog" } } },
    metadata: { ...full, registration: { ...full.registration, metadata: { a: 1, b: [2, 1] } } },
    "metadata, now none": { ...full, registration: { ...full.registration, metadata: null } },
    deadline_at: { ...full, registration: { ...full.registration, deadlineAt: NOW + HOUR + 1 } },
  };

  it.each(Object.entries(others))("is a conflict with another %s", (_field, event) => {
    expectRefused(record, event, "task_exists", later);
  });
});

describe("a registration for an id that an event created", () => {
  it("is a conflict even when it says the same", () => {
    const created = apply(null, aReport(aCompletion(), aCreation()));
    expectRefused(created, aRegistration(), "task_exists", later);
  });
});

import { describe, expect, it } from "vitest";
import { traceHeaders, traceIdOf, traceIn } from "../../src/core/record/trace.ts";
import { startedDelivery } from "../../src/core/duties/callback-attempt.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCallback,
  aCompletion,
  aCreation,
  aFinishedTask,
  aRegistration,
  aReport,
  NOW,
  POLICY,
} from "./builders.ts";
import { apply } from "./decisions.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_ID = "00f067aa0ba902b7";
const PARENT = `00-${TRACE_ID}-${PARENT_ID}-01`;
const TRACE = { parent: PARENT, state: "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7" };

describe("the trace context of a request", () => {
  it("a valid traceparent is kept as it is, with all its flags", () => {
    for (const flags of ["00", "01", "03", "ff"]) {
      const parent = `00-${TRACE_ID}-${PARENT_ID}-${flags}`;
      expect(traceIn(parent, null)).toEqual({ parent });
    }
    expect(traceIn(` ${PARENT} `, null)).toEqual({ parent: PARENT });
  });

  it.each([
    ["absent", null],
    ["empty", ""],
    ["no trace", "hello"],
    ["in upper case", PARENT.toUpperCase()],
    ["of the forbidden version", PARENT.replace(/^00/, "ff")],
    ["without a trace id", PARENT.replace(TRACE_ID, "0".repeat(32))],
    ["without a parent id", PARENT.replace(PARENT_ID, "0".repeat(16))],
    ["too short", PARENT.slice(0, -1)],
    ["of version 00 and too long", `${PARENT}-00`],
    ["of a later version whose further part is not separated", `${PARENT.replace(/^00/, "01")}00`],
    ["sent twice", `${PARENT}, ${PARENT}`],
  ])("a traceparent that is %s is ignored, and a tracestate with it", (_, traceparent) => {
    expect(traceIn(traceparent, TRACE.state)).toBeNull();
  });

  it.each([
    ["cc", "01", "01"],
    ["01", "03", "01"],
    ["fe", "02", "00"],
  ])(
    "a traceparent of the later version %s with the flags %s becomes one of version 00 with the flags %s",
    (version, flags, sampled) => {
      const later = `${version}-${TRACE_ID}-${PARENT_ID}-${flags}`;
      const parent = `00-${TRACE_ID}-${PARENT_ID}-${sampled}`;
      expect(traceIn(later, null)).toEqual({ parent });
      expect(traceIn(`${later}-what-the-future-brings`, null)).toEqual({ parent });
    },
  );

  it("a tracestate is kept as it is, unless it is longer than 512 characters or not printable", () => {
    expect(traceIn(PARENT, TRACE.state)).toEqual(TRACE);
    const longest = `a=${"b".repeat(510)}`;
    expect(traceIn(PARENT, longest)).toEqual({ parent: PARENT, state: longest });
    for (const state of ["", "  ", `${longest}b`, "a=\u00FC", "a=\u0000"]) {
      expect(traceIn(PARENT, state)).toEqual({ parent: PARENT });
    }
  });

  it("a trace context becomes the two headers in which it came, and its trace id can be read", () => {
    expect(traceHeaders(TRACE)).toEqual({ traceparent: PARENT, tracestate: TRACE.state });
    expect(traceHeaders({ parent: PARENT })).toStrictEqual({ traceparent: PARENT });
    expect(traceHeaders(undefined)).toEqual({});
    expect(traceIdOf(TRACE)).toBe(TRACE_ID);
  });
});

describe("the trace context of a task", () => {
  it("a task keeps that of its registration until its callback, and a repetition with another one changes nothing", () => {
    const registered = apply(null, aRegistration({ trace: TRACE }));
    expect(registered).toMatchObject({ trace: TRACE });
    const other = { parent: PARENT.replace(PARENT_ID, "1".repeat(16)) };
    const repeated = transition(registered, aRegistration({ trace: other }), POLICY, NOW + 1);
    expect(repeated).toMatchObject({ kind: "unchanged", record: { trace: TRACE } });
    const creation = aCreation({ trace: other });
    const ended = apply(registered, aReport(aCompletion(), creation));
    expect(ended).toMatchObject({ status: "completed", trace: TRACE });
  });

  it("a task that a report creates keeps that of the report", () => {
    const creation = aCreation({ trace: TRACE });
    expect(apply(null, aReport(aCompletion(), creation))).toMatchObject({ trace: TRACE });
  });

  it("a task of a request without one has no such member", () => {
    expect(apply(null, aRegistration())).not.toHaveProperty("trace");
    expect(apply(null, aReport(aCompletion(), aCreation()))).not.toHaveProperty("trace");
  });

  it("it stands in the stored record, and each attempt of the callback gets it", () => {
    const state = { kind: "in_flight", number: 2, dueAt: NOW, startedAt: NOW } as const;
    const task = { ...aFinishedTask(), callback: aCallback({ state }), trace: TRACE };
    const record = parseRecord(structuredClone(task));
    expect(record).toEqual(task);
    expect(startedDelivery(null, record)).toMatchObject({ number: 2, trace: TRACE });
  });
});

/**
 * Context of a distributed trace (https://www.w3.org/TR/trace-context/), as the request that created a task has stated
 * it. The relay makes no spans of its own: it passes both headers on unchanged, as the specification has it for a proxy.
 */
export interface Trace {
  /** Value of the header `traceparent`. */
  readonly parent: string;
  /** Value of the header `tracestate`. Absent when there was none. */
  readonly state?: string;
}

/** Version 00 of `traceparent`, or the beginning of that of a later version: trace id, id of the parent, flags. */
const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const FORBIDDEN_VERSION = "ff";
const ONLY_ZEROS = /^0+$/;
const SAMPLED = 1;
/** Largest `tracestate` that is passed on, in characters: the length that the specification asks for. */
const MAX_STATE_CHARS = 512;
const PRINTABLE = /^[\t\x20-\x7e]+$/;

/**
 * Returns the trace context in the headers of a request. Null when there is none, or an invalid one, which the
 * specification lets a receiver ignore. A `traceparent` of a later version becomes one of version 00, the only one that
 * the relay knows.
 */
export function traceIn(traceparent: string | null, tracestate: string | null): Trace | null {
  const parent = traceparent === null ? null : readParent(traceparent.trim());
  if (parent === null) return null;
  const state = tracestate?.trim() ?? "";
  const isPassedOn = state.length <= MAX_STATE_CHARS && PRINTABLE.test(state);
  return isPassedOn ? { parent, state } : { parent };
}

function readParent(text: string): string | null {
  const [, version, traceId = "", parentId = "", flags = "", rest] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || version === FORBIDDEN_VERSION) return null;
  if (ONLY_ZEROS.test(traceId) || ONLY_ZEROS.test(parentId)) return null;
  if (version === "00") return rest === undefined ? text : null;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
  return `00-${traceId}-${parentId}-${isSampled ? "01" : "00"}`;
}

/** Returns the member of a record or an event that holds a trace context. Without one there is no such member. */
export function traceMember(trace: Trace | null | undefined): { readonly trace?: Trace } {
  return trace ? { trace } : {};
}

/** Returns the headers by which a request states a trace context. */
export function traceHeaders(trace: Trace | undefined): Readonly<Record<string, string>> {
  if (trace === undefined) return {};
  const { parent, state } = trace;
  return { traceparent: parent, ...(state !== undefined && { tracestate: state }) };
}

/** Returns the trace id of a context, by which tools find all that belongs to one trace. */
export function traceIdOf({ parent }: Trace): string {
  return parent.split("-")[1] ?? "";
}

import { type Trace, traceIn } from "../../core/record/trace.ts";

/** Returns the trace context that the headers of a request state. Null when they state no valid one. */
export function traceOf(headers: Headers): Trace | null {
  return traceIn(headers.get("traceparent"), headers.get("tracestate"));
}

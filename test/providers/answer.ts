import type { Answer } from "../../src/providers/provider-answer.ts";
import type { ExampleAnswer } from "../../src/providers/shared/examples/report-examples.ts";

/** Returns an answer as adapters get it, with the given headers or none. */
export function anAnswer({ status, body, headers }: ExampleAnswer): Answer {
  return { status, body, headers: new Headers(headers) };
}

import type { EndResult } from "./task-history.ts";

/** Members of a callback's body that the rules look at. */
interface CallbackBody {
  readonly status: EndResult["status"];
  readonly completed_at?: number;
  readonly output?: { readonly urls: readonly string[] };
  readonly error?: { readonly code: string };
}

let last: { readonly text: string; readonly body: CallbackBody } | null = null;

/** Parses the body of a callback. Keeps the last one, because many rules ask for the same body one after another. */
export function parsedBody(text: string): CallbackBody {
  if (last?.text !== text) last = { text, body: JSON.parse(text) };
  return last.body;
}

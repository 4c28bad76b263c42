import { jsonEqual } from "../../core/json.ts";
import type { RefusalClass } from "../../core/record/refusal.ts";
import type { DeclaredSubmit } from "./declaration.ts";
import { findAll } from "./json-pointer.ts";

/**
 * Returns the class of the refusal if the declaration describes the answer to a submission as one, otherwise null. An
 * answer with HTTP status 500 or above counts as a refusal only if the declaration lists it under `busy` or `rate`.
 */
export function declaredRefusal(
  { busy, rate, funds, key, refused }: DeclaredSubmit,
  status: number,
  body: unknown,
): RefusalClass | null {
  if (hasOneOf(body, busy)) return "busy";
  if (hasOneOf(body, rate)) return "rate";
  if (status >= 500) return null;
  if (hasOneOf(body, funds)) return "funds";
  if (hasOneOf(body, key)) return "key";
  return hasOneOf(body, refused) ? "final" : null;
}

/** Tells whether a body has one of the declared values at the declared pointer. */
function hasOneOf(body: unknown, declared: DeclaredSubmit["refused"]): boolean {
  return Object.entries(declared ?? {}).some(([pointer, values]) =>
    findAll(body, pointer, null).some(({ value }) =>
      values.some((each) => isScalar(value) && jsonEqual(each, value)),
    ),
  );
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

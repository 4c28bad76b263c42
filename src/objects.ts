import { configOf } from "./config/runtime.ts";

/** The part of a namespace that names an object; `DurableObjectNamespace` and its jurisdictions have it. */
type Names<T extends Rpc.DurableObjectBranded> = Pick<
  DurableObjectNamespace<T>,
  "getByName" | "jurisdiction"
>;

/**
 * Returns the object of this name where the configuration places it. A name means another object in each
 * jurisdiction, so that every stub comes from here; lint forbids other uses of a namespace.
 * @param env what the platform passed; holds `JURISDICTION` and `LOCATION_HINT`.
 */
export function objectNamed<T extends Rpc.DurableObjectBranded>(
  namespace: Names<T>,
  name: string,
  env: object,
): DurableObjectStub<T> {
  const result = configOf(env);
  if (!result.ok) throw new Error("an object is called before the configuration is checked");
  const { jurisdiction, locationHint } = result.value;
  const placed = jurisdiction === null ? namespace : namespace.jurisdiction(jurisdiction);
  return locationHint === null ? placed.getByName(name) : placed.getByName(name, { locationHint });
}

/** Returns the object of this name outside all jurisdictions, whatever the configuration says. */
export function unplacedObject<T extends Rpc.DurableObjectBranded>(
  namespace: Names<T>,
  name: string,
): DurableObjectStub<T> {
  return namespace.getByName(name);
}

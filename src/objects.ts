import { configOf } from "./config/runtime.ts";

/**
 * The methods of a namespace that lead to an object; `DurableObjectNamespace` and its jurisdictions have
 * them.
 */
type Names<T extends Rpc.DurableObjectBranded> = Pick<
  DurableObjectNamespace<T>,
  "getByName" | "jurisdiction"
>;

/**
 * Returns the object of this name in the configured jurisdiction and region. A name means another object in
 * each jurisdiction, so every stub is created here; lint forbids other uses of a namespace.
 * @param env environment of the platform, which holds `JURISDICTION` and `LOCATION_HINT`.
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

/** Returns the object of this name outside all jurisdictions, independent of the configuration. */
export function unplacedObject<T extends Rpc.DurableObjectBranded>(
  namespace: Names<T>,
  name: string,
): DurableObjectStub<T> {
  return namespace.getByName(name);
}

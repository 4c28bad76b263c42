import { configOf } from "./config/runtime.ts";

/**
 * The methods of a Durable Object namespace that this file uses to reach an object; `DurableObjectNamespace`
 * and its subnamespaces for a jurisdiction have them.
 */
type Names<T extends Rpc.DurableObjectBranded> = Pick<
  DurableObjectNamespace<T>,
  "getByName" | "jurisdiction"
>;

/**
 * Returns the stub of the Durable Object of this name in the configured jurisdiction and region. The same
 * name means another object in each jurisdiction, so all stubs are created in this file; lint forbids the
 * direct use of a namespace elsewhere.
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

/**
 * Returns the stub of the Durable Object of this name outside all jurisdictions, whatever the configuration
 * says: for data that must still be found after `JURISDICTION` was changed.
 */
export function unplacedObject<T extends Rpc.DurableObjectBranded>(
  namespace: Names<T>,
  name: string,
): DurableObjectStub<T> {
  return namespace.getByName(name);
}

import { configOf, type WithStartup } from "../config/runtime.ts";

/**
 * The methods of a Durable Object namespace by which an object is reached. `DurableObjectNamespace` has
 * them, and so have its subnamespaces for a jurisdiction.
 */
type Names<T extends Rpc.DurableObjectBranded> = Pick<
  DurableObjectNamespace<T>,
  "getByName" | "jurisdiction"
>;

/**
 * Returns the stub of the Durable Object with this name, in the configured jurisdiction and region. In each
 * jurisdiction the same name leads to another object. Therefore only this file creates stubs; lint forbids the direct
 * use of a namespace elsewhere.
 * @param env environment, whose configuration contains `JURISDICTION` and `LOCATION_HINT`.
 */
export function objectNamed<T extends Rpc.DurableObjectBranded>(
  namespace: Names<T>,
  name: string,
  env: WithStartup,
): DurableObjectStub<T> {
  const config = configOf(env);
  if (config === null) throw new Error("an object is called before the configuration is checked");
  const { jurisdiction, locationHint } = config;
  const placed = jurisdiction === null ? namespace : namespace.jurisdiction(jurisdiction);
  return locationHint === null ? placed.getByName(name) : placed.getByName(name, { locationHint });
}

/** Returns the stub of the Durable Object with this name outside all jurisdictions, even when `JURISDICTION` is set. */
export function objectOutsideJurisdictions<T extends Rpc.DurableObjectBranded>(
  namespace: Names<T>,
  name: string,
): DurableObjectStub<T> {
  return namespace.getByName(name);
}

import { configOf, type WithStartup } from "../config/runtime.ts";

/**
 * The methods of a Durable Object namespace by which an object is reached. `DurableObjectNamespace` has
 * them, and so have its subnamespaces for a jurisdiction.
 */
type Names<T extends Rpc.DurableObjectBranded> = Pick<
  DurableObjectNamespace<T>,
  "getByName" | "jurisdiction"
>;
type Ids<T extends Rpc.DurableObjectBranded> = Pick<
  DurableObjectNamespace<T>,
  "newUniqueId" | "get" | "jurisdiction"
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
  const { jurisdiction, options } = placeOf(env);
  const placed = jurisdiction === null ? namespace : namespace.jurisdiction(jurisdiction);
  return placed.getByName(name, ...options);
}

/**
 * Creates a Durable Object without a name, in the configured jurisdiction and region. Its first call takes up to a few
 * hundred milliseconds less than that of an object with a name, which may be in use elsewhere
 * (https://developers.cloudflare.com/durable-objects/api/namespace/#newuniqueid).
 * @returns a function that returns a new stub of the object, because a stub that has failed stays broken.
 */
export function newObject<T extends Rpc.DurableObjectBranded>(
  namespace: Ids<T>,
  env: WithStartup,
): () => DurableObjectStub<T> {
  const { jurisdiction, options } = placeOf(env);
  const placed = jurisdiction === null ? namespace : namespace.jurisdiction(jurisdiction);
  const id = placed.newUniqueId();
  return () => placed.get(id, ...options);
}

/** Returns where objects are created, as the configuration says. */
function placeOf(env: WithStartup) {
  const config = configOf(env);
  if (config === null) throw new Error("an object is called before the configuration is checked");
  const { jurisdiction, locationHint } = config;
  return { jurisdiction, options: locationHint === null ? [] : ([{ locationHint }] as const) };
}

/** Returns the stub of the Durable Object with this name outside all jurisdictions, even when `JURISDICTION` is set. */
export function objectOutsideJurisdictions<T extends Rpc.DurableObjectBranded>(
  namespace: Names<T>,
  name: string,
): DurableObjectStub<T> {
  return namespace.getByName(name);
}

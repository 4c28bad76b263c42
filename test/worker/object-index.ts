import { env } from "cloudflare:workers";
import { ObjectDatabase } from "../../src/objects/index/object-database.ts";

/** The index of tests whose relay keeps it in an object. Null in the other projects. */
export const OBJECT_INDEX = objectIndex();

function objectIndex(): ObjectDatabase | null {
  const { INDEX_OBJECT } = env;
  if (INDEX_OBJECT === undefined) return null;
  return new ObjectDatabase((queries) => INDEX_OBJECT.getByName("index").query(queries));
}

import type { IndexConfig } from "../../config/index-config.ts";
import type { IndexDatabase } from "../../index-db/index-database.ts";
import { Shards } from "../../index-db/shards.ts";
import { indexObject, type ObjectNamespaces } from "../object-names.ts";
import { ObjectDatabase } from "./object-database.ts";

/**
 * The database of the index's object, for each environment. There is one, because an isolate remembers of a database
 * that its schema is complete.
 */
const objectDatabases = new WeakMap<ObjectNamespaces, ObjectDatabase>();

/**
 * Returns the databases of the index that the configuration names; null when the relay has no index.
 * @param env bindings.
 */
export function shardsOf(
  env: ObjectNamespaces,
  { isIndexInObject, indexDatabases, indexShardMs }: IndexConfig,
): Shards | null {
  if (isIndexInObject) return new Shards([objectDatabase(env)], Infinity);
  const [first, ...others] = indexDatabases
    .map((name) => Reflect.get(env, name))
    .filter(isDatabase);
  return first === undefined ? null : new Shards([first, ...others], indexShardMs ?? Infinity);
}

function objectDatabase(env: ObjectNamespaces): ObjectDatabase {
  const known = objectDatabases.get(env);
  if (known !== undefined) return known;
  // The stub is made for each call, because one that has failed stays broken.
  const database = new ObjectDatabase((queries) => indexObject(env).query(queries));
  objectDatabases.set(env, database);
  return database;
}

function isDatabase(value: unknown): value is IndexDatabase {
  return typeof value === "object" && value !== null && "prepare" in value;
}

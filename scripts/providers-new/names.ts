import { failure, type Result, success } from "../../src/core/result.ts";

/** A provider to be added, with the spellings of its name. */
export interface NewProvider {
  /** Name as in the field `provider` and in file names, e.g. `acme-video`. */
  readonly name: string;
  /** Name of the exported adapter, e.g. `acmeVideo`. */
  readonly identifier: string;
  /** Beginning of the names of the provider's variables, e.g. `ACME_VIDEO`. */
  readonly prefix: string;
  readonly hasHooks: boolean;
}

/**
 * Checks the name of a new provider and derives its spellings.
 * @param taken names of the providers that there are.
 */
export function newProvider(
  name: string,
  hasHooks: boolean,
  taken: readonly string[],
): Result<NewProvider, string> {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
    return failure(
      "The name must be of a-z and 0-9, with single - between, and begin with a letter.",
    );
  }
  if (taken.includes(name)) return failure(`There is a provider ${name} already.`);
  const identifier = name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const prefix = name.replaceAll("-", "_").toUpperCase();
  return success({ name, identifier, prefix, hasHooks });
}

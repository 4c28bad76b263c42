import { readFile, writeFile } from "node:fs/promises";
import { isLoopback } from "../../src/security/url-rules.ts";
import type { Environment } from "../environments.ts";
import { setKey, UnexpectedToml } from "../setup/wrangler-toml.ts";
import type { Secrets, Settings } from "./plan.ts";
import { Refusal } from "./refusal.ts";

/** The variables and secrets of a deployment, any of which may set its `PUBLIC_URL`. */
interface Deployed {
  readonly settings: Settings;
  readonly secrets: Secrets;
  /** Names of the secrets that the Worker had before the deployment. */
  readonly secretNames: ReadonlySet<string>;
}

/** Tells whether a variable or a secret of the deployment sets `PUBLIC_URL`. */
export function hasPublicUrl({ settings, secrets, secretNames }: Deployed): boolean {
  const texts = [settings.vars["PUBLIC_URL"], secrets.values["PUBLIC_URL"]];
  const isGiven = texts.some((text) => typeof text === "string" && text.trim() !== "");
  return isGiven || secretNames.has("PUBLIC_URL");
}

/**
 * Returns the origin under which others reach a deployed relay: of the option `--url`, or else its custom domain
 * or its address under workers.dev, as wrangler printed them; null when none of them is known.
 */
export function publicOrigin(given: URL | null, targets: readonly string[]): string | null {
  const domains = targets.flatMap((target) => /^([\w.-]+) \(custom domain/.exec(target)?.[1] ?? []);
  const texts = [given?.href ?? "", ...domains.map((domain) => `https://${domain}`), ...targets];
  const urls = texts.map((text) => URL.parse(text));
  return urls.find((url) => url?.protocol === "https:" && !isLoopback(url))?.origin ?? null;
}

/**
 * Stores the public address of an environment as `PUBLIC_URL` in `wrangler.toml`, from which every later deployment
 * takes it.
 * @param path path of `wrangler.toml`.
 * @throws Refusal when the file has another form than this code can edit.
 */
export async function storePublicUrl(
  path: string,
  { wranglerName }: Environment,
  origin: string,
): Promise<void> {
  const table = wranglerName === "" ? "vars" : `env.${wranglerName}.vars`;
  try {
    await writeFile(path, setKey(await readFile(path, "utf8"), table, "PUBLIC_URL", `"${origin}"`));
  } catch (error) {
    if (!(error instanceof UnexpectedToml)) throw error;
    const cure = `write PUBLIC_URL = "${origin}" under [${table}] yourself, then run this command again`;
    throw new Refusal(`wrangler.toml ${error.message}`, cure);
  }
}

import type { UploadRule } from "../deploy/outputs-bucket.ts";
import { type Finding, ok, problem, unchecked, warning } from "./finding.ts";

/** The settings of outputs that `/healthz` shows. */
export interface OutputSettings {
  readonly OUTPUTS: boolean;
  readonly OUTPUTS_URL: string | null;
  readonly OUTPUT_DAYS: number;
  readonly PUBLIC_URL: string | null;
}

const SETUP = "npm run setup -- --outputs";

/**
 * Checks where the relay keeps outputs (the files that tasks generate), and where its links to them lead.
 * @param isExposed true for a relay that others reach, whose console should have another host than the outputs.
 * @param isPlain true for a relay in plain workerd, which has no bucket of R2.
 */
export function outputFindings(
  settings: OutputSettings,
  isExposed: boolean,
  isPlain = false,
): Finding[] {
  const { OUTPUTS, OUTPUTS_URL, OUTPUT_DAYS, PUBLIC_URL } = settings;
  if (!OUTPUTS) {
    const how = isPlain ? "set OUTPUTS_S3_URL: docs/outputs.md" : SETUP;
    return [ok(`outputs: not kept, links are the upstream's unless they need its key (${how})`)];
  }
  if (OUTPUTS_URL === null) {
    const text =
      "outputs: neither OUTPUTS_URL nor PUBLIC_URL is set, so that links stay those of the upstream";
    return [problem(text, "set OUTPUTS_URL and deploy")];
  }
  const text = `outputs: kept for ${OUTPUT_DAYS} days, links lead to ${OUTPUTS_URL}`;
  if (!isExposed || OUTPUTS_URL !== PUBLIC_URL) return [ok(text)];
  const cure = isPlain
    ? "set OUTPUTS_URL to another host of the proxy (docs/outputs.md) and restart"
    : `${SETUP} --outputs-domain <host>, then deploy (docs/outputs.md)`;
  return [warning(`${text}, which is the host of the console`, cure)];
}

/** The store of outputs that `/healthz` shows. */
interface StoreHealth {
  readonly configuration: {
    readonly OUTPUTS_S3_URL?: string | null | undefined;
    readonly OUTPUTS_S3_BUCKET?: string | null | undefined;
  };
  readonly store?: { readonly fault: string | null } | null | undefined;
}

/** Says whether the S3-compatible store of outputs has answered the relay as it should; `[]` without such a store. */
export function storeFindings({ configuration, store }: StoreHealth): Finding[] {
  if (store === undefined || store === null) return [];
  const { OUTPUTS_S3_URL: url, OUTPUTS_S3_BUCKET: bucket } = configuration;
  const place = `outputs: bucket ${bucket} at ${url}`;
  if (store.fault === null) return [ok(`${place} can be read`)];
  const cure = "docs/outputs.md says what this means, and which variable to correct";
  return [problem(`${place}: ${store.fault}`, cure)];
}

/** Converts the state of the rule that aborts unfinished uploads to a result of the doctor. */
export function uploadRuleFinding(name: string, rule: UploadRule): Finding {
  const cure = `${SETUP}, which adds the rule`;
  if (rule.kind === "set")
    return ok(`outputs: bucket ${name} aborts unfinished uploads after a day`);
  if (rule.kind === "not set") {
    return problem(`outputs: bucket ${name} does not abort unfinished uploads after a day`, cure);
  }
  if (rule.kind === "no bucket") {
    return unchecked(`outputs: the Cloudflare account of this login has no bucket ${name}`);
  }
  return unchecked(
    `outputs: wrangler cannot read the rules of the bucket ${name} (npx wrangler login)`,
  );
}

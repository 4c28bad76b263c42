import * as z from "zod";
import { RATE_LIMITS } from "../../src/config/rate-limits.ts";
import { type Finding, ok, problem, unchecked } from "./finding.ts";
import { outputFindings, storeFindings } from "./outputs.ts";
import type { Answer } from "./relay.ts";

const Health = z.looseObject({
  version: z.optional(z.nullable(z.string())),
  configuration: z.looseObject({
    ALLOW_LOCAL_CALLBACKS: z.boolean(),
    PAUSED: z.boolean(),
    PLAN: z.enum(["paid", "free"]),
    INDEX_OBJECT: z.boolean().default(false),
    PUBLIC_URL: z.string().nullable(),
    secrets: z.record(z.string(), z.int()),
    OUTPUTS: z.boolean(),
    OUTPUTS_URL: z.nullable(z.string()),
    OUTPUT_DAYS: z.number(),
    OUTPUTS_S3_URL: z.optional(z.nullable(z.string())),
    OUTPUTS_S3_BUCKET: z.optional(z.nullable(z.string())),
  }),
  store: z.optional(z.nullable(z.looseObject({ fault: z.nullable(z.string()) }))),
  connections: z.record(
    z.string(),
    z.looseObject({
      key: z.string(),
      funds_refused_at: z.optional(z.number()),
      hooks: z.optional(z.string()),
    }),
  ),
  disabled: z.array(
    z.looseObject({
      name: z.string(),
      provider: z.string(),
      issues: z.array(z.looseObject({ path: z.string(), message: z.string() })),
    }),
  ),
  without_key: z.record(z.string(), z.looseObject({ needs: z.array(z.string()) })),
});
type Health = z.output<typeof Health>;

const Unconfigured = z.looseObject({
  issues: z.array(z.object({ path: z.string(), message: z.string() })).min(1),
});

const DOMAIN = "npm run setup -- --domain relay.example.com, then npx wrangler deploy";

/**
 * Reads the settings that the answer of `/healthz` shows to the operator; null when it shows none, because
 * the key is missing or wrong.
 */
export function healthOf({ json }: Answer): Health | null {
  return Health.safeParse(json).data ?? null;
}

/**
 * Returns a problem for each invalid variable that a relay without a valid configuration reports; `[]` for a
 * relay whose configuration is valid.
 */
export function unconfigured({ json }: Answer): readonly Finding[] {
  const issues = Unconfigured.safeParse(json).data?.issues ?? [];
  return issues.map(({ path, message }) =>
    problem(
      `configuration: ${path} ${message}`,
      `correct ${path} (docs/configuration.md) and deploy, or restart a relay of your own`,
    ),
  );
}

/**
 * Tells whether a relay runs in plain workerd, which names no version of the Worker: nothing of it is set with wrangler.
 * `wrangler dev` names one, as Cloudflare does.
 */
export function isOnPlainWorkerd({ version }: Health): boolean {
  return version === null;
}

/** Returns what makes a change of a variable take effect. */
export function applying(isPlain: boolean): "deploy" | "restart" {
  return isPlain ? "restart" : "deploy";
}

/** The relay whose settings are checked. */
interface Deployment {
  readonly url: URL;
  /** True when the relay runs on this machine. */
  readonly isLocal: boolean;
  /** True for the preview, which is paused and has no domain. */
  readonly isPreview: boolean;
}

/**
 * Checks the settings of a running relay, e.g. that `PUBLIC_URL` is the URL under which `npm run doctor`
 * calls it.
 */
export function configurationFindings(health: Health, deployment: Deployment): Finding[] {
  const { url, isLocal, isPreview } = deployment;
  const isPlain = isOnPlainWorkerd(health);
  const apply = applying(isPlain);
  const problems = [
    ...(isLocal ? [] : publicProblems(health, url, isPlain)),
    ...(isLocal || isPreview ? [] : domainProblems(url)),
    ...(health.configuration.PAUSED && !isPreview
      ? [
          problem(
            "configuration: PAUSED stops all callbacks and polls",
            `remove PAUSED and ${apply}`,
          ),
        ]
      : []),
  ];
  const findings = problems.length > 0 ? problems : [ok("configuration: valid")];
  return [
    ...(isPlain ? [PLAIN_WORKERD] : []),
    ...findings,
    secretsFinding(health),
    ...connectionFindings(health, apply),
    ...disabledFindings(health, apply),
    ...outputFindings(health.configuration, !isLocal && !isPreview, isPlain),
    ...storeFindings(health),
    limitsFinding(health, isPlain),
  ];
}

/**
 * Returns the result of `npm run doctor` that the relay refused the operator key, or that no operator key was
 * found on this machine.
 */
export function keyFinding(hasKey: boolean, file: string): Finding {
  if (hasKey) {
    return problem(
      "operator key: the relay refuses it",
      "set OPERATOR_KEY to one of the deployed OPERATOR_KEYS, or name the deployment with --env",
    );
  }
  return unchecked(`configuration, callback and index: no key in OPERATOR_KEY or ${file}`);
}

function publicProblems({ configuration }: Health, url: URL, isPlain: boolean): Finding[] {
  const apply = applying(isPlain);
  const { ALLOW_LOCAL_CALLBACKS, PUBLIC_URL } = configuration;
  const found: Finding[] = [];
  if (ALLOW_LOCAL_CALLBACKS) {
    const text = "configuration: ALLOW_LOCAL_CALLBACKS admits private addresses";
    found.push(problem(text, `remove ALLOW_LOCAL_CALLBACKS and ${apply}`));
  }
  if (url.protocol === "http:") {
    found.push(problem("address: http sends keys unencrypted", "use https in --url"));
  }
  if (PUBLIC_URL === null) {
    const text =
      "configuration: PUBLIC_URL is not set: hook URLs begin with the host that each caller has used, and outside Cloudflare tasks of providers with hooks are refused";
    const how = isPlain ? "" : ", which npm run deploy:first does";
    found.push(problem(text, `set PUBLIC_URL to ${url.origin} and ${apply}${how}`));
  } else if (PUBLIC_URL !== url.origin) {
    const text = `configuration: hooks are sent to PUBLIC_URL ${PUBLIC_URL}, not to ${url.origin}`;
    found.push(problem(text, "run the doctor with that --url, or correct PUBLIC_URL"));
  }
  return found;
}

/** Checks that a relay has a domain of its own, which the preview does not need. */
function domainProblems(url: URL): Finding[] {
  if (!url.hostname.endsWith(".workers.dev")) return [];
  const text = "address: workers.dev cannot be reached from mainland China and has no firewall";
  return [problem(text, DOMAIN)];
}

function secretsFinding({ configuration: { secrets } }: Health): Finding {
  const { RELAY_SECRET = 0, OPERATOR_KEYS = 0 } = secrets;
  return ok(`secrets: ${RELAY_SECRET} in RELAY_SECRET, ${OPERATOR_KEYS} in OPERATOR_KEYS`);
}

function connectionFindings({ connections }: Health, apply: string): Finding[] {
  const names = Object.keys(connections);
  const found = names.flatMap((name) => connectionProblems(name, connections[name], apply));
  return found.length === 0 ? [ok(`providers: ${names.length} with an API key`)] : found;
}

/** Returns a problem for each fault of an entry of `CONNECTIONS` whose connection is disabled for it. */
function disabledFindings({ disabled }: Health, apply: string): Finding[] {
  return disabled.flatMap(({ name, provider, issues }) => {
    const page = provider === "generic" ? "src/providers/generic/README.md" : "docs/queue.md";
    return issues.map(({ path, message }) =>
      problem(
        `providers: ${name} is disabled: ${path} ${message}`,
        `correct ${path} (${page}) and ${apply}`,
      ),
    );
  });
}

function connectionProblems(
  name: string,
  connection: Health["connections"][string] | undefined,
  apply: string,
) {
  const { key, hooks, funds_refused_at: unpaidAt } = connection ?? {};
  const refused = `set a valid key for ${name} and ${apply}`;
  const unpaid = `pay into the account of ${name}, or raise its own spending limit there`;
  const missing = `examine the hook URL, the firewall in front of it and the submit call of ${name}`;
  return [
    ...(key === "refused" ? [problem(`providers: ${name} refuses its API key`, refused)] : []),
    ...(unpaidAt === undefined ? [] : [problem(`providers: ${name} has no money left`, unpaid)]),
    ...(hooks === "missing" ? [problem(`providers: no hooks of ${name} come`, missing)] : []),
  ];
}

/** Says where the variables of a relay stand that nothing is deployed to. */
const PLAIN_WORKERD = ok(
  "host: plain workerd, whose variables come from its environment: /etc/task-relay.env, or that of the container (docs/self-host.md)",
);

/** Names the rate limits that limit nothing. */
function limitsFinding({ configuration }: Health, isPlain: boolean): Finding {
  const missing = RATE_LIMITS.filter((name) => configuration[name] !== true);
  if (missing.length === 0) return ok(`limits: ${RATE_LIMITS.join(", ")}`);
  const verb = missing.length === 1 ? "is" : "are";
  const cure = isPlain ? "RATE_LIMITS=default, and restart" : "[[ratelimits]] in wrangler.toml";
  return unchecked(`limits: ${missing.join(", ")} ${verb} not bound and limit nothing (${cure})`);
}

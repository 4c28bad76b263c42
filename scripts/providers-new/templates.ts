import type { NewProvider } from "./names.ts";

const HOOKS = `hooks: {
    // MISSING: "body-signed" or "request-signed" where the provider signs its hooks, and their verification
    // instead of noSignature; the compiler then names what the tests of signatures lack.
    assurance: "capability-url",
    // MISSING: the field of the submit call that takes the hook URL.
    parameter: "webhook_url",
    // MISSING: the field of the submit call that takes the task id and is echoed in hooks, if there is one.
    idParameter: null,
    authenticate: noSignature,
    read: observe,
  },`;

/** Writes the adapter of a new provider, which compiles; what the author has to find out is marked. */
export function adapterOf({ name, identifier, prefix, hasHooks }: NewProvider): string {
  return `import { at, idAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { bearer, ${hasHooks ? "noSignature, " : ""}readingOf, type UpstreamProvider } from "../provider.ts";

/** Adapter for MISSING: the name of the service, and the URL of its documentation. */
export const ${identifier} = {
  name: "${name}",
  variables: { key: "${prefix}_API_KEY", baseUrl: "${prefix}_BASE_URL" },
  // MISSING: the base URL of the API.
  baseUrls: ["https://api.${name}.example"],
  ${hasHooks ? HOOKS : "hooks: null,"}
  // MISSING: the time for which links live, with the URL that says so; null where none is documented.
  linkLife: null,
  polls: {
    // MISSING: the least time between two polls of a job, if more than a second.
    gapMs: 1_000,
    // MISSING: the time after which the provider forgets a job; null where none is documented.
    maxAgeMs: null,
    // MISSING: the rules of the endpoint, where the id of a job is not enough to poll it.
    endpoint: null,
    // MISSING: the headers that authenticate a request, if not a bearer token.
    headers: bearer,
    // MISSING: the path that polls a job.
    path: ({ id }) => \`/jobs/\${encodeURIComponent(id)}\`,
    read: ({ body }) => readingOf(observe(body)),
  },
} as const satisfies UpstreamProvider;

function observe(body: unknown): Observation | null {
  // MISSING: the fields of the provider's reports.
  const jobId = idAt(body, "id");
  if (jobId === null) return null;
  const error = textAt(body, "error");
  return {
    jobId,
    state: textAt(body, "status"),
    // MISSING: the places of outputs that are documented, the main one first, and the part of the report that is output.
    urls: outputLinks({ main: [at(body, "output")], part: at(body, "output") }),
    metadata: {},
    completedAt: null,
    error: error === null ? null : { code: null, text: error },
  };
}
`;
}

/**
 * Meanings of which there must be an example, each with a sentence that stands in place of the documented
 * report.
 */
const EXAMPLES = [
  ["success", "a success", "completed([LINK])"],
  ["noOutput", "a success without output", "NO_OUTPUT"],
  ["moderation", "a stop by moderation", `failed("moderation", "Refused by the safety filter.")`],
  ["failure", "a failure that is no moderation", `failed("provider", "The model failed.")`],
  ["running", "a running job", "PROCESSING"],
  ["unknownState", "an unknown state", "null"],
] as const;

/** Writes the examples of a new provider: one of each meaning, whose report is missing. */
export function examplesOf({ name, hasHooks }: NewProvider): string {
  const hooks = `{
${reportsOf("hook", "hook")}    unreadable: hook("a hook without a job", {}, "nothing"),
    others: [],
  }`;
  return `import { completed, failed, NO_OUTPUT, PROCESSING } from "../shared/examples/meanings.ts";
import { type Examples, examplesOf } from "../shared/examples/report-examples.ts";

const ID = "job-0001";
const LINK = "https://cdn.${name}.example/a.mp4";
const { ${hasHooks ? "hook, " : ""}poll } = examplesOf(ID, \`/jobs/\${ID}\`);

export const examples: Examples = {
  provider: "${name}",
  hooks: ${hasHooks ? hooks : "null"},
  polls: {
${reportsOf("poll", "answer")}    others: [],
  },
};
`;
}

/** Writes the examples of hooks or polls, by the function that makes one of them. */
function reportsOf(maker: "hook" | "poll", report: string): string {
  const lines = EXAMPLES.map(([meaning, title, means]) => {
    const missing = `MISSING: the documented ${report} for ${title}`;
    return `    ${meaning}: ${maker}("${title}", "${missing}", ${means}),\n`;
  });
  return lines.join("");
}

/** Writes the page of a new provider's corpus: a list of the bodies that are missing, to be struck off as they are found. */
export function corpusPageOf({ name, hasHooks }: NewProvider): string {
  const hooks = hasHooks
    ? "\nMISSING: hooks: the end, a failure, and a state on the way, if one is sent.\n"
    : "";
  return `# Corpus of ${name}

Bodies of real answers${hasHooks ? " and hooks" : ""}, each with its source and the reading that follows from the vendor's documents, by somebody who has not written the adapter. File links, ids of jobs and the wording of prose are replaced.

MISSING: every state that the documents name.

MISSING: every place of an error: in the job, in an envelope, in headers, as an HTTP status.

MISSING: every form of output: one file, several files, each kind of file.
${hooks}
MISSING: at least three bodies that the documents do not show, from tests of SDKs and public reports.

## Sources

Read on MISSING: the day, and the pages with their links.

## Where was searched

MISSING: the pages and repositories, and when they were read.
`;
}

/** Writes the page of a new provider. */
export function pageOf({ name, prefix, hasHooks }: NewProvider): string {
  const hookUrl = hasHooks ? `, "webhook_url": "'$HOOK_URL'"` : "";
  return `# ${name}

MISSING: what the service is, with a link to its documentation, and its hosts in other regions.

MISSING: the [one call](../../../docs/submit.md#one-call), where the adapter has \`submits\`, which stands before everything else.

## Register, submit, attach

\`\`\`sh account
curl https://api.${name}.example/jobs \\
  -H "Authorization: Bearer $${prefix}_API_KEY" -H "Content-Type: application/json" \\
  -d '{"prompt": "a fox"${hookUrl}}'   # {"id": "MISSING: a job id as documented"}
curl $relay/v1/tasks/$ID/upstream -H "$auth" -d '{"provider": "${name}", "id": "…"}'
\`\`\`

## Hooks, polls and links

<!-- generated: facts -->

<!-- end of facts -->

| hooks proved by | ${hasHooks ? "nothing" : "it sends none"} |
|---|---|
| polling needs | key, job |
| states | MISSING: the words of the examples |
| time of the end in | nothing |
| [progress](../../../docs/providers.md#progress) | not stated |
| [\`usage\`](../../../docs/providers.md#usage) | nothing |
| [canceled](../../../docs/providers.md#canceling-jobs) by | no call that stops a job is documented |

MISSING: what its users must know: signatures, repeated hooks, limits, particular failures.

[Sources and real bodies](corpus/README.md)
`;
}

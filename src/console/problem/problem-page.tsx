import { PROBLEM_HELP } from "../../api/http/problem-help.ts";
import { PROBLEMS, type ProblemCode } from "../../api/http/problem-list.ts";
import type { Issue, Problem } from "../../api/http/problem.ts";
import { configOf } from "../../config/runtime.ts";
import { DAY_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { placedRuntimeOf } from "../../objects/placed-runtime.ts";
import { isStatusPage } from "../http/browser-request.ts";
import { html } from "../http/html-answer.ts";
import { frameOf, type Frame, Layout, themeOf } from "../layout/layout.tsx";
import { PublicLayout } from "../layout/public-layout.tsx";
import { Code } from "../parts/code.tsx";
import { Hostile } from "../parts/hostile.tsx";
import { pathOf } from "../session/return-to.ts";
import { visitorOf } from "../session/session.ts";
import { refusedLinkPage } from "../status/refused-link.tsx";

/** A request that ended with a problem, and its request id in the log. */
export interface Refused {
  readonly request: Request;
  readonly env: Env;
  readonly requestId: string;
}

/** Seconds after which the page of a temporary failure reloads itself when the problem has no header `Retry-After`. */
const RETRY_S = "10";

const INDEX_LINES = `[[d1_databases]]
binding = "INDEX_DB"
database_name = "task-relay-index"`;

/**
 * Returns the page that shows a problem (RFC 9457) to a person. It has the same status and headers as the API's
 * response. The page of a temporary failure (503) reloads itself.
 */
export async function problemPage(problem: Problem, refused: Refused): Promise<Response> {
  const { code, details } = problem;
  const { request } = refused;
  const { status, title } = PROBLEMS[code];
  const retryS = details.headers?.["Retry-After"] ?? RETRY_S;
  const again: Record<string, string> =
    status === 503 && request.method === "GET" ? { Refresh: retryS } : {};
  const headers = { ...details.headers, ...again };
  if (isStatusPage(request)) return refusedLinkPage({ ...refused, code, status, headers });
  const frame = await frameFor(refused);
  const content = <Content problem={problem} {...refused} />;
  return html(
    frame === null ? (
      <PublicLayout title={title} theme={themeOf(request)}>
        {content}
      </PublicLayout>
    ) : (
      <Layout title={title} frame={frame} section={null}>
        {content}
      </Layout>
    ),
    status,
    headers,
  );
}

/**
 * Returns what the viewer's console pages show around their content.
 * @returns null when nobody is logged in, or when the viewer cannot be identified, e.g. because the configuration is
 * not valid.
 */
async function frameFor({ request, env }: Refused): Promise<Frame | null> {
  try {
    const runtime = placedRuntimeOf(env);
    const visitor = runtime.ok ? await visitorOf(request, runtime.value, env) : null;
    if (!runtime.ok || visitor === null) return null;
    return frameOf({ request, runtime: runtime.value, viewer: visitor.viewer });
  } catch {
    return null;
  }
}

function Content({ problem, request, env, requestId }: Refused & { readonly problem: Problem }) {
  const { code, details } = problem;
  const { status, title } = PROBLEMS[code];
  const url = new URL(request.url);
  return (
    <>
      <p class="problem-status">{status}</p>
      <h1>{title}</h1>
      <div class="stack-s problem-text">
        <p>
          <Hostile text={details.detail} />
        </p>
        <Issues issues={details.issues ?? []} />
        <p>{adviceFor(code, env)}</p>
        {code === "index_disabled" && (
          <Code text={INDEX_LINES} what="the lines" title="wrangler.toml" />
        )}
        <p class="buttons">
          {code === "unauthenticated" && (
            <a class="button button-main" href="/login">
              Log in
            </a>
          )}
          {status >= 500 && request.method === "GET" && (
            <a class="button button-main" href={pathOf(url)}>
              Try again
            </a>
          )}
          {status === 400 && url.search !== "" && (
            <a class="button button-main" href={pathOf({ pathname: url.pathname, search: "" })}>
              Without the filters
            </a>
          )}
          <a class="button" href="/">
            Overview
          </a>
          <a class="button button-plain" href={`/docs/errors#${code}`}>
            About {code}
          </a>
        </p>
        <p class="muted small">
          Request <code>{requestId}</code>
        </p>
      </div>
    </>
  );
}

function Issues({ issues }: { readonly issues: readonly Issue[] }) {
  if (issues.length === 0) return null;
  return (
    <ul>
      {issues.map(({ path, message }) => (
        <li>
          <code>
            <Hostile text={path.slice(1)} />
          </code>{" "}
          <Hostile text={message} />
        </li>
      ))}
    </ul>
  );
}

/**
 * Advice for the person who reads the page of a problem, by problem code. It contains only the codes for which the
 * advice in `PROBLEM_HELP`, written for programmers, does not fit.
 */
const ADVICE: Partial<Record<ProblemCode, string>> = {
  unauthenticated: "Log in again, then repeat what you did.",
  not_found:
    "Check the address. What it names may have been deleted, or belong to another account.",
  invalid_request:
    "Nothing has been changed. Correct the address, or go back and correct the form.",
  index_disabled:
    "Lists and statistics need the index. Add these lines, or run npm run setup -- --index on, and deploy again; the pages of single tasks work without.",
  unavailable: "No task is lost by this. The page tries again by itself.",
};

function adviceFor(code: ProblemCode, env: Env): string {
  if (code !== "unknown_task") return ADVICE[code] ?? PROBLEM_HELP[code].cure;
  return `It was never registered here, belongs to another account, or has been erased${retentionText(env)}.`;
}

function retentionText(env: Env): string {
  const config = configOf(env);
  if (config === null) return "";
  return `: a finished task is kept for ${config.retentionMs / DAY_MS} days after its last change`;
}

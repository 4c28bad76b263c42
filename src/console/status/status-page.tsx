import { linkOrigin } from "../../api/http/link-origin.ts";
import type { TaskStatus } from "../../api/shapes/task-shape.ts";
import { readLinkedTask } from "../../api/tasks/read-task.ts";
import { linkedTaskIn } from "../../api/tasks/task-json.ts";
import { configOf } from "../../config/runtime.ts";
import { SECOND_MS } from "../../core/time.ts";
import { html } from "../http/html-answer.ts";
import { publicPage } from "../http/page.ts";
import { isRefresh } from "../http/refresh-request.ts";
import { themeOf } from "../layout/layout.tsx";
import { indentedJson } from "../parts/code.tsx";
import { Id } from "../parts/copy.tsx";
import { Hostile, HostileCode } from "../parts/hostile.tsx";
import { Ago, Time } from "../parts/shown-time.tsx";
import { linkEndOf } from "../task/links.tsx";
import { brandOf, CustomerLayout, customerHeaders } from "./customer-layout.tsx";
import { failureText } from "./failure-texts.ts";
import { isSecure, resultFiles, type ResultFile } from "./result-files.ts";
import { Result } from "./shown-result.tsx";

/**
 * Seconds after which the page refreshes itself: `open` while the task has no result, `crowded` instead if too many
 * readers already wait with the same link, `copying` while the relay copies files of the result, `settled` afterwards.
 */
const REFRESH_S = { open: 1, crowded: 15, copying: 5, settled: 3_600 };
/** Longest time in seconds for which the response to a refresh waits for the end of the task. */
const LONGEST_HOLD_S = "55";
/** Seconds after which a browser without scripts loads the page of an open task again. */
const RELOAD_S = "15";

/**
 * The page of a status link, for people who are not logged in. It reads the task by the same function as the API. This
 * function checks the token of the link.
 */
export const statusPage = publicPage(
  "statusPage",
  "/v1/tasks/{id}",
  async ({ request, env, url, params }) => {
    const asked = new URL(url);
    if (isRefresh(request)) asked.searchParams.set("wait", LONGEST_HOLD_S);
    const headers = new Headers(request.headers);
    headers.delete("If-None-Match");
    const found = await readLinkedTask({ env, url: asked, params, headers });
    const task = linkedTaskIn(found.task);
    const now = Date.now();
    const brand = brandOf(env);
    const config = configOf(env);
    const connection = config?.connections.get(found.task.connection ?? "");
    const pageOrigin = linkOrigin(env, request);
    const files = resultFiles(task, {
      outputsOrigin: config?.outputsOrigin ?? null,
      pageOrigin,
      linkEnd: linkEndOf(connection, (task.completed_at ?? 0) * SECOND_MS),
      now,
    });
    const page = (
      <CustomerLayout
        title="Your result"
        theme={themeOf(request)}
        brand={brand}
        head={found.task.isTerminal ? null : <Reload />}
      >
        <Life task={task} files={files} isCrowded={found.isCrowded} now={now} />
      </CustomerLayout>
    );
    return html(page, 200, await customerHeaders(brand, mediaSchemesOf(pageOrigin)));
  },
);

/**
 * Returns the schemes of media that the page may show. All hosts are permitted, because the policy of an open page stays
 * the same when its result arrives, whose hosts nobody knows before.
 */
function mediaSchemesOf(pageOrigin: string): readonly string[] {
  return isSecure(pageOrigin) ? ["https:"] : ["https:", "http:"];
}

/** Lets a browser without scripts load the page again. */
function Reload() {
  return (
    <noscript>
      <meta http-equiv="refresh" content={RELOAD_S} />
    </noscript>
  );
}

interface LifeProps {
  readonly task: TaskStatus;
  readonly files: readonly ResultFile[];
  /** True when the response was not delayed until the task ends, because too many readers of the link already wait. */
  readonly isCrowded: boolean;
  readonly now: number;
}

/** The part of the status page that refreshes itself. */
function Life({ task, files, isCrowded, now }: LifeProps) {
  return (
    <div id="life" class="result-life" data-refresh={String(refreshOf(task, files, isCrowded))}>
      <Stage task={task} files={files} now={now} />
      <Details task={task} />
    </div>
  );
}

/** Shows the result, why there is none, or that it is being made. */
function Stage({ task, files, now }: Omit<LifeProps, "isCrowded">) {
  const { id, output, error, failure } = task;
  if (output !== undefined) return <Result files={files} count={output.urls.length} now={now} />;
  if (error !== undefined) return <Failure id={id} error={error} failure={failure} />;
  return <Progress task={task} now={now} />;
}

/** Says that the result is being made, since when, and how far it is. */
function Progress({ task, now }: Pick<LifeProps, "task" | "now">) {
  const { progress } = task;
  const value = progress === undefined ? {} : { value: String(progress) };
  return (
    <>
      <div>
        <h1 aria-live="polite">{`Your result is ${task.status === "pending" ? "on its way" : "being made"}`}</h1>
        <p>This page shows it as soon as it is there. You can leave it open.</p>
      </div>
      <progress class="result-progress" aria-label="Progress" max="100" {...value} />
      <p class="muted">
        {progress === undefined ? "Requested " : `${progress} % done, requested `}
        <Ago at={task.created_at * SECOND_MS} now={now} />
      </p>
    </>
  );
}

interface FailureProps {
  readonly id: string;
  readonly error: NonNullable<TaskStatus["error"]>;
  readonly failure: TaskStatus["failure"];
}

/** Says why there is no result, and what may help. */
function Failure({ id, error, failure }: FailureProps) {
  const { reason, explanation, mayRetry } = failureText(error, failure);
  return (
    <>
      <div>
        <h1 aria-live="polite">There is no result</h1>
        <p>
          {reason}
          {mayRetry ? " A new try may succeed." : null}
        </p>
      </div>
      {explanation === null ? null : (
        <p>
          The service says: <Hostile text={explanation} />
        </p>
      )}
      <p class="muted small">
        If you ask for help, give this number: <Id text={id} what="the number" />
      </p>
    </>
  );
}

/** Facts that few readers need. */
function Details({ task }: { readonly task: TaskStatus }) {
  const { output, completed_at: completedAt } = task;
  const isEmpty = output === undefined || Object.keys(output.metadata).length === 0;
  return (
    <details class="details">
      <summary>Details</summary>
      <div class="stack-s">
        <dl class="fields">
          <dt>Model</dt>
          <dd>
            <Hostile text={task.model} />
          </dd>
          <dt>Requested</dt>
          <dd>
            <Time at={task.created_at * SECOND_MS} />
          </dd>
          {completedAt === undefined ? null : (
            <>
              <dt>Ready</dt>
              <dd>
                <Time at={completedAt * SECOND_MS} />
              </dd>
            </>
          )}
          <dt>Number</dt>
          <dd>
            <Id text={task.id} what="the number" />
          </dd>
        </dl>
        {isEmpty ? null : (
          <HostileCode
            title="Output metadata"
            what="Output metadata"
            text={indentedJson(output.metadata)}
          />
        )}
      </div>
    </details>
  );
}

function refreshOf(task: TaskStatus, files: readonly ResultFile[], isCrowded: boolean): number {
  if (task.status === "pending" || task.status === "processing")
    return isCrowded ? REFRESH_S.crowded : REFRESH_S.open;
  return files.some(({ place }) => place === "copying") ? REFRESH_S.copying : REFRESH_S.settled;
}

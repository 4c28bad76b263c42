import type { TaskStatus } from "../../api/shapes/task-shape.ts";
import { readLinkedTask } from "../../api/tasks/read-task.ts";
import { linkedTaskIn } from "../../api/tasks/task-json.ts";
import { isOpenStatus } from "../../core/record/callback.ts";
import { html } from "../http/html-answer.ts";
import { publicPage } from "../http/page.ts";
import { isRefresh } from "../http/refresh-request.ts";
import { themeOf } from "../layout/layout.tsx";
import { PublicLayout } from "../layout/public-layout.tsx";
import { Status } from "../parts/chip.tsx";
import { Hostile } from "../parts/hostile.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ResultPanel } from "../task/result-panel.tsx";

/**
 * Seconds after which the page refreshes itself: `open` while the task has no result, `crowded` instead if too many
 * readers already wait with the same link, `sending` while the callback is being sent, `settled` afterwards.
 */
const REFRESH_S = { open: 1, crowded: 15, sending: 5, settled: 3_600 };
/** Longest time in seconds for which the response to a refresh waits for the end of the task. */
const LONGEST_HOLD_S = "55";

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
    const page = (
      <PublicLayout title={`Task ${task.id.slice(0, 8)}`} theme={themeOf(request)}>
        <Life task={task} isCrowded={found.isCrowded} />
      </PublicLayout>
    );
    return html(page, 200, { "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex" });
  },
);

interface LifeProps {
  readonly task: TaskStatus;
  /** True when the response was not delayed until the task ends, because too many readers of the link already wait. */
  readonly isCrowded: boolean;
}

/** The part of the status page that refreshes itself. */
function Life({ task, isCrowded }: LifeProps) {
  const { id, status, callback } = task;
  return (
    <div id="life" class="task-page" data-refresh={String(refreshOf(task, isCrowded))}>
      <PageHead title={<Hostile text={task.model} />} sub={id} />
      <div class="task-state">
        <Status of={status} solid />
        {callback === null ? null : (
          <span class="task-callback">
            callback <Status of={callback.status} />
          </span>
        )}
        <p>{TEXTS[status]}</p>
      </div>
      <ResultPanel
        task={{ ...task, callback: null }}
        links={null}
        outputsOrigin={null}
        now={Date.now()}
      />
    </div>
  );
}

const TEXTS = {
  pending: "The result is not there yet. This page shows it by itself.",
  processing: "The result is not there yet. This page shows it by itself.",
  completed: "The result is there.",
  failed: "There is no result.",
} as const satisfies Readonly<Record<TaskStatus["status"], string>>;

function refreshOf({ status, callback }: TaskStatus, isCrowded: boolean): number {
  if (status === "pending" || status === "processing")
    return isCrowded ? REFRESH_S.crowded : REFRESH_S.open;
  return isOpenStatus(callback?.status) ? REFRESH_S.sending : REFRESH_S.settled;
}

import { linkOrigin } from "../../api/http/link-origin.ts";
import { Problem } from "../../api/http/problem.ts";
import { cancelTask } from "../../api/tasks/cancel-task.ts";
import { deleteOutputs } from "../../api/outputs/delete-outputs.ts";
import { eraseTask } from "../../api/tasks/erase-task.ts";
import { redeliverTask } from "../../api/callbacks/redeliver-task.ts";
import type { StatusLink } from "../../api/tasks/status-url.ts";
import { SECOND_MS } from "../../core/time.ts";
import { may } from "../../objects/task/caller.ts";
import { type FormFault, numberIn, withFaultsIn } from "../http/forms.ts";
import { html, seeOther, showingOutputs } from "../http/html-answer.ts";
import { formAction, viewerPage } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { CopyButton, Id } from "../parts/copy.tsx";
import { durationText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";
import { REDELIVER, TaskActions, Share, shareLinkOf } from "./actions.tsx";
import { FactsPanel } from "./facts-panel.tsx";
import { linkEndOf } from "./links.tsx";
import { nextStepOf } from "./next-step.ts";
import { ResultPanel } from "./result-panel.tsx";
import { seenOf, SeenPanel } from "./seen.tsx";
import { Story } from "./story.tsx";
import { readShownTask, type ShownTask, taskIdOf, type TaskVisit } from "./task-data.ts";
import { taskIncident } from "./task-incident.ts";
import { TaskState } from "./task-state.tsx";
import { TimelineDrawing } from "./timeline-drawing.tsx";
import { creditDetails, timelineOf } from "./timeline.ts";
import { TrackingPanel } from "./tracking-panel.tsx";

/** The page of one task: what happened, what comes next, and what the receiver of the callback got. */
export const taskPage = viewerPage("taskPage", "/tasks/{id}", "read", (visit) =>
  showTask(visit, null),
);

/** Returns the page of a task. @param fault why a form of this page was refused; null when none was refused. */
async function showTask(visit: TaskVisit, fault: FormFault | null): Promise<Response> {
  const shown = await readShownTask(visit);
  const { task } = shown;
  const seen = await seenOf(visit, shown);
  const link = await shareLinkOf(shown, visit);
  return html(
    <Layout title={`Task ${task.id.slice(0, 8)}`} frame={frameOf(visit)} section="tasks" isLive>
      <Head shown={shown} visit={visit} fault={fault} link={link} />
      <div class="task-page task-columns">
        <Life shown={shown} visit={visit} />
        {seen === null ? null : <SeenPanel seen={seen} taskId={task.id} />}
      </div>
    </Layout>,
    200,
    showingOutputs(visit.runtime.config.outputsOrigin),
  );
}

interface Shown {
  readonly shown: ShownTask;
  readonly visit: TaskVisit;
}

interface HeadProps extends Shown {
  readonly fault: FormFault | null;
  readonly link: StatusLink;
}

function Head({ shown, visit, fault, link }: HeadProps) {
  const { task } = shown;
  const sub = (
    <span class="task-sub">
      <Id text={task.id} what="the id of the task" />
      {task.account === undefined ? null : <a href={`/accounts/${task.account}`}>{task.account}</a>}
      {task.provider === undefined ? null : <span>{task.provider}</span>}
      {task.upstream === undefined ? null : (
        <Id
          text={task.upstream.id}
          what="the id of the upstream job"
          short={shortened(task.upstream.id)}
        />
      )}
    </span>
  );
  return (
    <PageHead title={<Hostile text={task.model} />} sub={sub}>
      <Neighbour by={-1} icon="back" hotkey="[" label="Task before" />
      <Neighbour by={1} icon="arrow" hotkey="]" label="Next task" />
      <ApiDialog origin={linkOrigin(visit.env, visit.request)} paths={apiPaths(shown)} />
      <Share link={link} />
      <TaskActions shown={shown} visit={visit} fault={fault} />
    </PageHead>
  );
}

/** Returns the paths of API requests that return the data of the page. */
function apiPaths({ task: { id }, facts: { callback } }: ShownTask): readonly string[] {
  const last = callback?.attempts.at(-1);
  const path = `/v1/tasks/${id}`;
  return last === undefined ? [path] : [path, `${path}/attempts/${last.number}/request`];
}

/** The part of the page that shows how far the task is. It is refreshed whenever the task may have changed. */
function Life({ shown, visit }: Shown) {
  const now = Date.now();
  const { task, facts, state } = shown;
  const next = nextStepOf(task, facts, now);
  const timeline = timelineOf(facts, creditDetails(task), now);
  const connection = visit.runtime.config.connections.get(task.provider ?? "");
  const endedS = task.completed_at ?? task.finished_at;
  const link = `${linkOrigin(visit.env, visit.request)}/tasks/${task.id}`;
  const links = endedS === undefined ? null : linkEndOf(connection, endedS * SECOND_MS);
  return (
    <div
      id="life"
      class="task-page life"
      data-refresh={String(next.refreshS)}
      {...(visit.request.method === "POST" && { "data-refresh-url": `/tasks/${task.id}` })}
      data-version={state}
    >
      <TaskState task={task} next={next} arePlacesShown={may(visit.viewer, "inspect")} now={now} />
      <ResultPanel
        task={task}
        links={links}
        outputsOrigin={visit.runtime.config.outputsOrigin}
        now={now}
      />
      <Panel
        title="Timeline"
        aside={
          <span class="state">
            {facts.finishedAt === null ? `open for ${durationText(now - facts.createdAt)}` : null}
            <CopyButton text={taskIncident(task, facts, link)} label="Copy for the incident" />
          </span>
        }
      >
        <TimelineDrawing timeline={timeline} />
        <Story shown={shown} now={now} />
      </Panel>
      <FactsPanel task={task} isHostShown={may(visit.viewer, "inspect")} now={now} />
      {task.tracking === undefined ? null : <TrackingPanel tracking={task.tracking} now={now} />}
    </div>
  );
}

function shortened(id: string): string {
  return id.length <= 22 ? id : `${id.slice(0, 12)}…${id.slice(-6)}`;
}

/** Orders a redelivery, and redirects to the page of the task. A form that is sent twice orders only one redelivery. */
export const redeliver = formAction(
  "redeliver",
  "/tasks/{id}/redeliver",
  "redeliver",
  async (visit) => {
    const { form, viewer, params } = visit;
    const body = {
      attempts: form.has("attempts") ? numberIn(form, "attempts") : 1,
      callback_url: form.get("callback_url") || null,
    };
    return withFaultsIn(
      { id: REDELIVER, typed: form, fields: ["callback_url"] },
      async () => {
        const given = { params, body, idempotencyKey: form.get("idempotency_key") };
        await redeliverTask.perform(given, viewer, visit);
        return seeOther(`/tasks/${taskIdOf(params.id)}`);
      },
      (fault) => showTask(visit, fault),
    );
  },
);

/** Cancels a task, and redirects to its page. If the job has ended in the meantime, the page shows its result. */
export const cancel = formAction("cancel", "/tasks/{id}/cancel", "cancel", async (visit) => {
  const { form, viewer, params } = visit;
  const query = form.has("force") ? { force: form.get("force") } : {};
  try {
    await cancelTask.perform({ params, query }, viewer, visit);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "task_settled") throw error;
  }
  return seeOther(`/tasks/${taskIdOf(params.id)}`);
});

/** Deletes the outputs of a task, and redirects to its page. */
export const deleteOutputsForm = formAction(
  "deleteOutputsForm",
  "/tasks/{id}/outputs",
  "outputs",
  async (visit) => {
    const { viewer, params } = visit;
    await deleteOutputs.perform({ params }, viewer, visit);
    return seeOther(`/tasks/${taskIdOf(params.id)}`);
  },
);

/** Erases a task and redirects to the front page of the console. */
export const erase = formAction("erase", "/tasks/{id}/erase", "administer", async (visit) => {
  const { viewer, params } = visit;
  await eraseTask.perform({ params }, viewer, visit);
  return seeOther("/");
});

interface NeighbourProps {
  readonly by: 1 | -1;
  readonly icon: IconName;
  readonly hotkey: string;
  readonly label: string;
}

/**
 * Link to the previous or the next task in the list of tasks that the browser has shown last. The server does not know
 * this list, so the script of the page sets the link's address.
 */
function Neighbour({ by, icon, hotkey, label }: NeighbourProps) {
  return (
    <a
      href="/tasks"
      class="button button-plain button-icon"
      data-neighbour={String(by)}
      data-key={hotkey}
      aria-label={label}
      title={`${label} (${hotkey})`}
      hidden
    >
      <Icon name={icon} />
    </a>
  );
}

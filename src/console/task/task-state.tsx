import type { Task } from "../../api/shapes/task-shape.ts";
import { Status } from "../parts/chip.tsx";
import { Ago, Time } from "../parts/shown-time.tsx";
import type { nextStepOf } from "./next-step.ts";

interface StateProps {
  readonly task: Task;
  readonly next: ReturnType<typeof nextStepOf>;
  /** True for a viewer who may see the places of connections, and so gets a link to them while the task waits for one. */
  readonly arePlacesShown: boolean;
  readonly now: number;
}

/**
 * Line with the status of the task and of its callback, and with what happens next, e.g. a poll or a callback attempt.
 */
export function TaskState({ task, next, arePlacesShown, now }: StateProps) {
  return (
    <div class={`task-state tone-${next.tone}`}>
      <Status of={task.status} solid />
      {task.callback === null ? null : (
        <span class="task-callback">
          callback <Status of={task.callback.status} />
        </span>
      )}
      <p>
        {next.since === undefined ? null : (
          <>
            {next.since.text} <Ago at={next.since.at} now={now} />.{" "}
          </>
        )}
        {next.text}
        {next.at === null ? null : (
          <>
            {" "}
            <strong>
              <Ago at={next.at} now={now} />
            </strong>
            , at <Time at={next.at} />
          </>
        )}
        {arePlacesShown && task.submission?.position !== undefined ? (
          <>
            {" "}
            <a href="/providers#places">Places</a>
          </>
        ) : null}
      </p>
      {task.progress === undefined ? null : (
        <span class="task-progress">
          <progress max="100" value={task.progress} aria-label="Progress of the job" />{" "}
          {task.progress} %
        </span>
      )}
    </div>
  );
}

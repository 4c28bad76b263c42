import type { Task } from "../../api/shapes/task-shape.ts";
import { indentedJson } from "../parts/code.tsx";
import { HostileCode, Hostile } from "../parts/hostile.tsx";
import { Panel } from "../parts/page-head.tsx";
import { type LinkEnd, Links } from "./links.tsx";

interface ResultProps {
  readonly task: Task;
  readonly links: LinkEnd | null;
  /** Origin whose pictures, videos and sounds the page may show; null when it may show none. */
  readonly outputsOrigin: string | null;
  readonly now: number;
}

/** Section with the result or the error of a task; empty while it has neither. */
export function ResultPanel({ task, links, outputsOrigin, now }: ResultProps) {
  const { output, error } = task;
  if (output === undefined && error === undefined) return null;
  return (
    <Panel title="Result">
      <dl class="fields">
        <ErrorFacts task={task} />
        <Links task={task} links={links} outputsOrigin={outputsOrigin} now={now} />
      </dl>
      <Json title="Output metadata" value={output?.metadata} />
    </Panel>
  );
}

function ErrorFacts({ task: { error, failure } }: Pick<ResultProps, "task">) {
  if (error === undefined) return null;
  return (
    <>
      <dt>Error</dt>
      <dd>
        <code>
          <Hostile text={error.code} />
        </code>{" "}
        <Hostile text={error.message} />
        {failure === undefined ? null : (
          <span class="muted">
            {" "}
            ({failure.category}, {failure.retryable ? "may work when repeated" : "would fail again"}
            )
          </span>
        )}
      </dd>
    </>
  );
}

interface JsonProps {
  readonly title: string;
  readonly value: object | undefined;
}

/** An object as JSON text; empty when it is absent or has no member. */
export function Json({ title, value }: JsonProps) {
  if (value === undefined || Object.keys(value).length === 0) return null;
  return <HostileCode title={title} what={title} text={indentedJson(value)} />;
}

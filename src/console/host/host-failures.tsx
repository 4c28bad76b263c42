import type { failuresOf } from "../../api/search/host-views.ts";
import { countText } from "../parts/format.ts";
import { causeOf } from "./host-causes.ts";
import type { TaskCallback } from "../../api/shapes/task-shape.ts";
import { Status } from "../parts/chip.tsx";
import { Hostile } from "../parts/hostile.tsx";
import { Panel } from "../parts/page-head.tsx";
import { Ago } from "../parts/shown-time.tsx";

/**
 * A task whose callback is shown as an example of how a host fails. A null callback means that the task no longer
 * exists.
 */
export interface Sample {
  readonly id: string;
  readonly callback: TaskCallback | null;
}

interface HostFailuresProps {
  readonly failures: ReturnType<typeof failuresOf>;
  readonly samples: readonly Sample[];
  readonly now: number;
}

/**
 * Shows how the callbacks to a host fail: each pair of outcome and HTTP status with its likely cause. The cause that
 * is easiest to check comes first.
 */
export function HostFailures({ failures, samples, now }: HostFailuresProps) {
  const { outcomes, accounts, is_capped: isCapped } = failures;
  if (outcomes.length === 0) return null;
  const kinds = outcomes.toSorted((a, b) => causeOf(a).rank - causeOf(b).rank);
  return (
    <>
      <Panel
        title="Why callbacks fail"
        aside={isCapped ? "among the newest failed callbacks" : undefined}
      >
        <ol class="kinds">
          {kinds.map((kind) => (
            <li class="kind">
              <div class="kind-head">
                <Status of={kind.outcome ?? "failed"} />
                {kind.status_code === null ? null : <strong>{kind.status_code}</strong>}
                <span class="muted">
                  {countText(kind.tasks)} {kind.tasks === 1 ? "callback" : "callbacks"}
                  {kind.last_at === null ? null : (
                    <>
                      , last <Ago at={kind.last_at * 1000} now={now} />
                    </>
                  )}
                </span>
              </div>
              <p>{causeOf(kind).text}</p>
              <SampleText id={kind.task_id} samples={samples} />
            </li>
          ))}
        </ol>
      </Panel>
      <Panel title="Whose callbacks">
        <p>
          {accounts.map(({ account, tasks }, at) => (
            <>
              {at === 0 ? "" : ", "}
              {account === null ? (
                "tasks without an account"
              ) : (
                <a href={`/accounts/${encodeURIComponent(account)}`}>{account}</a>
              )}{" "}
              <span class="muted">{countText(tasks)}</span>
            </>
          ))}
        </p>
      </Panel>
    </>
  );
}

/** Shows what the receiver answered last to the callback of one task. */
function SampleText(props: { readonly id: string | null; readonly samples: readonly Sample[] }) {
  const { id, samples } = props;
  if (id === null) return null;
  const sample = samples.find((each) => each.id === id);
  const excerpt = sample?.callback?.attempts.findLast(
    ({ response_excerpt: text }) => text !== undefined,
  )?.response_excerpt;
  return (
    <p class="small muted">
      {excerpt === undefined || excerpt === "" ? null : (
        <>
          It answered “<Hostile text={excerpt} />
          ”.{" "}
        </>
      )}
      <a href={`/tasks/${id}`}>Open one of these tasks</a>
    </p>
  );
}

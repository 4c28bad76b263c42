import type { AttemptRequest } from "../../api/callbacks/attempt-request.ts";
import { likelyCauseOf } from "../host/host-causes.ts";
import { wireOf } from "../parts/attempt-curl.ts";
import { Status } from "../parts/chip.tsx";
import { durationText } from "../parts/format.ts";
import { Hostile, HostileCode } from "../parts/hostile.tsx";
import { Panel } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import type { ListedAttempt } from "./listed-attempts.ts";

/** An attempt of a callback with its request, computed again. */
export interface Exchange {
  readonly attempt: ListedAttempt;
  readonly request: AttemptRequest;
}

interface AttemptPanelProps {
  readonly exchange: Exchange;
  /** Path of the page without this panel. */
  readonly closePath: string;
}

/** Section with one attempt: the request that was sent and, beside it, what is kept of the receiver's answer. */
export function AttemptPanel({ exchange: { attempt, request }, closePath }: AttemptPanelProps) {
  const { task, model, facts } = attempt;
  return (
    <Panel
      id="attempt"
      title={`Attempt ${facts.number} of task ${task.slice(0, 8)}`}
      aside={
        <span class="buttons">
          <a href={`/tasks/${task}`}>Open the task</a>
          <a href={closePath}>Close</a>
        </span>
      }
    >
      <div class="stack-s">
        <p class="state">
          <Status of={facts.outcome ?? "sending"} />
          <Time at={facts.startedAt} precision="ms" />
          {facts.durationMs === null ? "" : <span>took {durationText(facts.durationMs)}</span>}
          <span class="muted">
            <Hostile text={model} />
          </span>
        </p>
        <div class="columns">
          <HostileCode
            what="the request"
            title={request.exact === true ? "Request, byte for byte" : "Request, computed again"}
            text={wireOf(request)}
          />
          <Answer attempt={attempt} />
        </div>
      </div>
    </Panel>
  );
}

function Answer({ attempt: { facts, shown } }: { readonly attempt: ListedAttempt }) {
  const { status_code: code, response_excerpt: excerpt } = shown ?? {};
  const lines = headOf(shown);
  const isRefused = facts.outcome !== null && facts.outcome !== "delivered";
  return (
    <div class="stack-s">
      {lines.length === 0 && excerpt === undefined ? (
        <p class="muted">No answer is kept.</p>
      ) : (
        <HostileCode
          what="the answer"
          title={excerpt === undefined ? "Answer, without a body" : "Answer, its beginning"}
          text={[...lines, ...(excerpt === undefined ? [] : ["", excerpt])].join("\n")}
        />
      )}
      {isRefused ? (
        <p class="small">
          {likelyCauseOf({ outcome: facts.outcome, status_code: code ?? null }).text}
        </p>
      ) : null}
    </div>
  );
}

/** Returns what is kept of the answer to an attempt besides its body, as lines. */
function headOf(shown: ListedAttempt["shown"]): readonly string[] {
  const { content_type: type, retry_after: retryAfter, location_host: host } = shown?.answer ?? {};
  const lines = [
    ["HTTP ", shown?.status_code],
    ["content-type: ", type],
    ["retry-after: ", retryAfter],
    ["host of the location: ", host],
  ] as const;
  return lines.flatMap(([name, value]) => (value === undefined ? [] : `${name}${value}`));
}

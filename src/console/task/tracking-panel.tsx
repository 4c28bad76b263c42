import type { Task } from "../../api/shapes/task-shape.ts";
import { SECOND_MS } from "../../core/time.ts";
import { Panel } from "../parts/page-head.tsx";
import { Ago } from "../parts/shown-time.tsx";

interface TrackingProps {
  readonly tracking: NonNullable<Task["tracking"]>;
  readonly now: number;
}

/** Section about the upstream job of an open task: the last response to a poll, the next poll, and the hooks. */
export function TrackingPanel({ tracking, now }: TrackingProps) {
  const { answer, answer_since: since, next_poll_at: next, next_poll_reason: reason } = tracking;
  const refused = tracking.hooks_refused ?? [];
  const ago = (at: number) => <Ago at={at * SECOND_MS} now={now} />;
  return (
    <Panel title="Upstream">
      <dl class="fields">
        <dt>Last answer</dt>
        <dd>
          {answer === undefined ? "none yet" : answer}
          {since === undefined ? null : <span class="muted"> since {ago(since)}</span>}
        </dd>
        <dt>Next poll</dt>
        <dd>
          {next === undefined ? "none planned" : ago(next)}
          {reason === undefined ? null : (
            <span class="muted"> ({reason.replaceAll("_", " ")})</span>
          )}
        </dd>
        <dt>Hooks</dt>
        <dd>
          {tracking.hooks_taken ?? 0} taken, {tracking.hooks_kept ?? 0} kept, {refused.length}{" "}
          refused
          {refused.map(({ at, reason: why }) => (
            <p class="small muted">
              {why.replaceAll("_", " ")} {ago(at)}
            </p>
          ))}
        </dd>
        {tracking.kept_jobs === undefined ? null : (
          <>
            <dt>Jobs named by hooks</dt>
            <dd>
              <bdi>{tracking.kept_jobs.join(", ")}</bdi>
            </dd>
          </>
        )}
        <UnreadableKey tracking={tracking} now={now} />
        {tracking.is_extended === true ? (
          <>
            <dt>Deadline</dt>
            <dd>extended once</dd>
          </>
        ) : null}
      </dl>
    </Panel>
  );
}

/**
 * Shows since when the relay cannot decrypt the customer's key of a task, because none of its relay secrets can. Shows
 * nothing while the key can be decrypted.
 */
function UnreadableKey({ tracking: { key_unreadable_since: since }, now }: TrackingProps) {
  if (since === undefined) return null;
  return (
    <>
      <dt>Customer's key</dt>
      <dd>
        cannot be opened since <Ago at={since * SECOND_MS} now={now} />
      </dd>
    </>
  );
}

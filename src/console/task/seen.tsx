import { type AttemptRequest, requestOf } from "../../api/callbacks/attempt-request.ts";
import { may } from "../../objects/task/caller.ts";
import { numberIn } from "../http/forms.ts";
import { indentedJson, Code } from "../parts/code.tsx";
import { attemptCurl, wireOf } from "../parts/attempt-curl.ts";
import { HostileCode } from "../parts/hostile.tsx";
import { Panel } from "../parts/page-head.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { DoctorForm, signerText } from "./doctor-page.tsx";
import type { ShownTask, TaskVisit } from "./task-data.ts";
import { VERIFICATION_CODE } from "./verification-code.ts";

/** Receiver on the reader's own machine, to which the shown curl command sends a freshly signed request. */
const LOCAL_URL = "http://localhost:3000/";

/** The request of an attempt as it was sent, and the same request with a signature of the present time. */
export interface Seen {
  readonly number: number;
  readonly numbers: readonly number[];
  readonly sent: AttemptRequest;
  /**
   * The request with a signature of the present time, with which the viewer can test a server. Null when the viewer may
   * not order redeliveries.
   */
  readonly fresh: AttemptRequest | null;
}

/**
 * Returns the request of the attempt that the parameter `attempt` of the URL names or, without it, of the last attempt.
 * The request is computed again, because requests are not stored.
 * @returns null when the task has no attempt.
 */
export async function seenOf(
  { url, viewer, runtime, env }: TaskVisit,
  { facts: { callback } }: ShownTask,
): Promise<Seen | null> {
  if (callback === null) return null;
  const wanted = numberIn(url.searchParams, "attempt");
  const { attempts } = callback;
  const attempt = attempts.find(({ number }) => number === wanted) ?? attempts.at(-1);
  if (attempt === undefined) return null;
  const of = (signedAt: number | null) => requestOf(callback, attempt, signedAt, runtime, env);
  return {
    number: attempt.number,
    numbers: attempts.map(({ number }) => number),
    sent: await of(null),
    fresh: may(viewer, "redeliver") ? await of(Date.now()) : null,
  };
}

/** Section about what the receiver got: the exact request of an attempt, with help to verify its signature. */
export function SeenPanel({ seen, taskId }: { readonly seen: Seen; readonly taskId: string }) {
  const { number, numbers, sent, fresh } = seen;
  return (
    <section id="seen" class="seen" data-refresh="3600">
      <div class="panel-head">
        <h2>What your client saw</h2>
        <div class="aside">{exactText(sent)}</div>
      </div>
      {numbers.length < 2 ? null : (
        <nav class="segments" aria-label="Attempt">
          {numbers.map((each) => (
            <a href={`?attempt=${each}#seen`} aria-current={each === number ? "true" : undefined}>
              #{each}
            </a>
          ))}
        </nav>
      )}
      <Tabs name="seen" label="Form of the request" tabs={requestTabs(sent, fresh)} />
      <p class="small muted">
        Signed with {sent.signed_by.map((name) => signerText(name)).join(", ")}.
        {sent.hidden_headers === undefined
          ? null
          : ` Sent with headers of the endpoint (${sent.hidden_headers.join(", ")}), whose values are shown nowhere: the commands lack them.`}
      </p>
      <div class="help-columns">
        <Panel title="Verify it in your server">
          <Tabs
            name="code"
            label="Language"
            tabs={VERIFICATION_CODE.map(({ language, code }) => ({
              title: language,
              content: <Code what={`the code in ${language}`} text={code} />,
            }))}
          />
        </Panel>
        <Panel title="Why does my server refuse it?">
          <DoctorForm action={`/tasks/${taskId}/verify`} />
        </Panel>
      </div>
    </section>
  );
}

function requestTabs(sent: AttemptRequest, fresh: AttemptRequest | null) {
  const json = indentedJson(JSON.parse(sent.body));
  const tabs = [
    { title: "Request", content: <HostileCode what="the request" text={wireOf(sent)} /> },
    { title: "Body, indented", content: <HostileCode what="the body" text={json} /> },
    {
      title: "curl, as sent",
      content: <HostileCode what="the command" text={attemptCurl(sent)} />,
    },
  ];
  if (fresh === null) return tabs;
  const title = "Signed now: libraries accept it for five minutes";
  const local = (
    <HostileCode what="the command" title={title} text={attemptCurl(fresh, LOCAL_URL)} />
  );
  return [...tabs, { title: "curl, freshly signed", content: local }];
}

function exactText({ exact }: AttemptRequest): string {
  if (exact === null) return "computed again";
  return exact
    ? "byte for byte as sent"
    : "computed again; a secret or the public URL has changed since";
}

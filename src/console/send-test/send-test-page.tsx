import { TaskId } from "../../api/http/fields.ts";
import { verdictOn } from "../../api/callbacks/verify-callback.ts";
import {
  sampleMessage,
  signingAccount,
  testAsAccount,
  type Tested,
} from "../../api/callbacks/test-callback.ts";
import type { Account } from "../../core/record/task.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { CallbackFacts } from "../../core/views/task-facts.ts";
import type { Verdict } from "../../security/doctor/verdict.ts";
import { type FormFault, numberIn, withFaultsIn } from "../http/forms.ts";
import { html } from "../http/html-answer.ts";
import { formAction, type FormVisit, viewerPage, type ViewerVisit } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { headerLines } from "../parts/attempt-curl.ts";
import { Status } from "../parts/chip.tsx";
import { Code } from "../parts/code.tsx";
import { Field, FormIssue, Select } from "../parts/field.tsx";
import { durationText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";
import { searchTarget } from "../search/search-page.ts";
import { DoctorForm, type Pasted, receivedIn, VerdictView } from "../task/doctor-page.tsx";
import { callbackOf, readShownTask } from "../task/task-data.ts";

/** Results that the sample task of a test can have, with their labels. */
export const SAMPLES = [
  ["completed", "completed, with an output"],
  ["failed", "failed, with an error"],
] as const;

/** Values that were typed into the form, by the names of its fields. */
interface TestFields {
  readonly callback_url: string;
  readonly status: string;
  readonly account: string;
}

/** A test callback that was sent. It is not stored; from these values it can be computed again. */
interface SentTest {
  readonly id: string;
  /** Time in Unix seconds at which the test callback was sent. */
  readonly sentAt: number;
}

/**
 * State of the page for test callbacks: the typed values, the result of a test that was sent, and the result of a
 * signature check.
 */
interface TestState {
  readonly fields: TestFields;
  readonly fault?: FormFault;
  readonly result?: Tested;
  /** The test callback that was sent last; null when none was sent. */
  readonly sent?: SentTest | null;
  /** Headers and body that a server has received, as the viewer has pasted them into the form. */
  readonly received?: Pasted;
  readonly verdict?: Verdict;
}

/**
 * The page with the form that sends a test callback. The query parameters `url` and `account` fill in fields of the
 * form.
 */
export const testPage = viewerPage("testPage", "/test", "redeliver", (visit) => {
  const { searchParams } = visit.url;
  const text = (name: string) => searchParams.get(name) ?? "";
  return showTest(visit, {
    fields: { callback_url: text("url"), account: text("account"), status: "" },
  });
});

/** Returns the page on which test callbacks can be sent and the signatures of received callbacks can be checked. */
function showTest(visit: ViewerVisit<unknown>, state: TestState, status = 200): Promise<Response> {
  const { fields, fault, result, sent, received, verdict } = state;
  const hidden = sent == null ? {} : { ...fields, sample: sent.id, sent_at: String(sent.sentAt) };
  return html(
    <Layout title="Send a test" frame={frameOf(visit)} section="test">
      <PageHead
        title="Send a test"
        sub="One callback of a sample task, signed like a real one. No task is stored, and nothing is sent again."
      />
      <div class="stack">
        <div class="columns">
          <TestForm
            fields={fields}
            isOperator={visit.viewer.kind === "operator"}
            fault={fault?.form === "test" ? fault : null}
          />
          {result === undefined ? (
            <p class="muted">
              What was sent, and what the server answered, appears here. A server that verifies
              signatures answers 2xx to a test only when it has the right secret.
            </p>
          ) : (
            <Outcome {...result} />
          )}
        </div>
        <Panel title="Why does my server refuse it?">
          <div class="stack-s">
            {verdict === undefined ? null : <VerdictView verdict={verdict} />}
            <DoctorForm
              action="/test/verify"
              hidden={hidden}
              fault={fault?.form === "doctor" ? fault : null}
              {...received}
            />
          </div>
        </Panel>
      </div>
    </Layout>,
    status,
  );
}

interface TestFormProps {
  readonly fields: TestFields;
  readonly isOperator: boolean;
  readonly fault: FormFault | null;
}

function TestForm({ fields, isOperator, fault }: TestFormProps) {
  return (
    <form method="post" action="/test" class="stack-s form">
      <Field
        label="URL"
        name="callback_url"
        type="url"
        value={fields.callback_url}
        required
        fault={fault}
      />
      <Select
        label="Result of the sample"
        name="status"
        options={SAMPLES}
        value={fields.status}
        fault={fault}
      />
      {isOperator ? (
        <Field
          label="As account"
          name="account"
          value={fields.account}
          maxlength={64}
          fault={fault}
          hint="Signs with the secret of this account; empty for tasks without an account."
        />
      ) : null}
      <FormIssue fault={fault} />
      <p class="buttons">
        <button type="submit" class="button button-main">
          Send
        </button>
      </p>
    </form>
  );
}

/** The result of a test callback: the response of the receiver, and the request as it was sent. */
export function Outcome(result: Tested) {
  const { outcome, status_code: code, duration_ms: ms, cause, response_excerpt: excerpt } = result;
  const { method, url, body } = result.request;
  const lines = headerLines(result.request);
  return (
    <div class="stack" id="outcome">
      <Panel title="Answer" aside={durationText(ms)}>
        <p>
          <Status of={outcome} solid /> {code ?? ""} {cause ?? ""}
        </p>
        {excerpt === undefined ? null : (
          <p>
            <Hostile text={excerpt} />
          </p>
        )}
      </Panel>
      <Panel title="Request as sent">
        <div class="stack-s">
          <Code title="Headers" text={`${method} ${url}\n${lines.join("\n")}`} what="the headers" />
          <Code title="Body" text={body} what="the body" language="json" />
        </div>
      </Panel>
    </div>
  );
}

/** Sends a test callback, and shows what was sent and what the receiver answered. */
export const runTest = formAction("runTest", "/test", "redeliver", sendSample, {
  rateLimit: "LIMIT_TESTS",
});

async function sendSample(visit: FormVisit<object>): Promise<Response> {
  const { form, viewer } = visit;
  const fields = fieldsIn(form);
  return withFaultsIn(
    { id: "test", typed: form, fields: ["callback_url", "status", "account"] },
    async () => {
      const result = await testAsAccount.perform({ params: {}, body: fields }, viewer, visit);
      const { "X-Task-Id": id = "", "X-Timestamp": sentAt } = result.request.headers;
      return showTest(visit, { fields, result, sent: { id, sentAt: Number(sentAt) } });
    },
    (fault) => showTest(visit, { fields, fault }),
  );
}

/**
 * Checks the signature of a callback that a server has received, by comparing it with the test callback that was sent
 * before or, if none was sent, with the callback of the task that the received headers name.
 */
export const diagnoseTest = formAction(
  "diagnoseTest",
  "/test/verify",
  "redeliver",
  async (visit) => {
    const { form, runtime, env, viewer } = visit;
    const fields = fieldsIn(form);
    const [sent, received] = [sentIn(form), receivedIn(form)];
    const named = searchTarget(received.headers);
    const id = named?.kind === "task" ? named.id : null;
    if (sent === null && id === null) {
      const text = "The headers name no task. Paste webhook-id too, or send a test first.";
      const fault = {
        form: "doctor",
        typed: form,
        issues: new Map([["headers", text]]),
        text: null,
      };
      return showTest(visit, { fields, fault }, 400);
    }
    const facts =
      sent === null
        ? callbackOf(await readShownTask({ ...visit, params: { id: id ?? "" } }))
        : factsOf(
            sent,
            fields,
            await signingAccount(fields.account, { caller: viewer, env }),
            visit.url.origin,
          );
    const asking = { caller: viewer, runtime, env };
    const verdict = await verdictOn(received, facts, Date.now(), asking);
    return showTest(visit, { fields, sent, received, verdict });
  },
);

function fieldsIn(form: URLSearchParams): TestFields {
  const text = (name: string) => (form.get(name) ?? "").trim();
  return { callback_url: text("callback_url"), status: text("status"), account: text("account") };
}

/** Reads from the form of a signature check which test callback was sent before. @returns null when none was sent. */
function sentIn(form: URLSearchParams): SentTest | null {
  const id = TaskId.safeParse(form.get("sample"));
  const sentAt = numberIn(form, "sent_at");
  return id.success && typeof sentAt === "number" ? { id: id.data, sentAt } : null;
}

/** Computes the callback of an earlier test again, because test callbacks are not stored. */
function factsOf(
  { id, sentAt }: SentTest,
  { callback_url: url, status }: TestFields,
  account: Account | null,
  origin: string,
): CallbackFacts {
  const startedAt = sentAt * SECOND_MS;
  const result = status === "failed" ? "failed" : "completed";
  const attempt = { number: 1, series: 1, dueAt: startedAt, startedAt, url, sentDigest: null };
  return {
    message: sampleMessage(id, result, account, origin, startedAt),
    url,
    attempts: [{ ...attempt, durationMs: null, outcome: null }],
    nextAttemptAt: null,
    pausedUntil: null,
    series: { number: 1, total: 1, started: 1 },
  };
}

import { countRequest } from "../../api/http/rate-limit.ts";
import { validate } from "../../api/http/body.ts";
import { sendTest, TestOrder } from "../../api/test-callback.ts";
import { requireAccount } from "../../api/accounts/account-client.ts";
import { AccountId } from "../../api/http/fields.ts";
import { accountOf } from "../../task-object/caller.ts";
import { html } from "../answer.ts";
import { durationText } from "../format.ts";
import { frameOf } from "../frame.ts";
import { formAction, type ViewerVisit, viewerPage } from "../page.ts";
import { Status } from "../parts/chip.tsx";
import { Code } from "../parts/code.tsx";
import { Field, Select } from "../parts/field.tsx";
import { Hostile } from "../parts/hostile.tsx";
import { Layout } from "../parts/layout.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";

type Result = Awaited<ReturnType<typeof sendTest>>;

/** The form that sends a test callback; the query parameters `url` and `account` fill in its fields. */
export const testPage = viewerPage("/test", "redeliver", (visit) => {
  const { searchParams } = visit.url;
  return answer(visit, searchParams.get("url") ?? "", searchParams.get("account") ?? "", null);
});

/** Sends a test callback, and shows what was sent and what the server answered. */
export const runTest = formAction("/test", "redeliver", async (visit) => {
  const { form, viewer: caller, env, runtime, url } = visit;
  const [callback_url, status] = [form.get("url") ?? "", form.get("status")];
  const body = validate(TestOrder, { callback_url: callback_url.trim(), status });
  const chosen = (form.get("account") ?? "").trim();
  await countRequest("LIMIT_TESTS", caller, env);
  const own = accountOf(caller) ?? (chosen === "" ? null : validate(AccountId, chosen));
  const account = own === null ? null : await requireAccount(env, own);
  const call = { env, runtime, caller, origin: url.origin, body };
  return answer(visit, callback_url, chosen, await sendTest(call, account));
});

function answer(
  visit: ViewerVisit<unknown>,
  url: string,
  account: string,
  result: Result | null,
): Promise<Response> {
  const isOperator = visit.viewer.kind === "operator";
  return html(
    <Layout title="Send a test" frame={frameOf(visit)} section="test">
      <PageHead
        title="Send a test"
        sub="One callback of a sample task, signed like a real one. No task is stored, and nothing is sent again."
      />
      <div class="columns">
        <TestForm url={url} account={isOperator ? account : null} />
        {result === null ? (
          <p class="muted">
            What was sent, and what the server answered, appears here. A server that verifies
            signatures answers 2xx to a test only when it has the right secret.
          </p>
        ) : (
          <Outcome {...result} />
        )}
      </div>
    </Layout>,
  );
}

interface TestFormProps {
  readonly url: string;
  /** Account whose secret signs the callback; null where the viewer cannot choose one. */
  readonly account: string | null;
}

function TestForm({ url, account }: TestFormProps) {
  return (
    <form method="post" action="/test" class="stack-s form">
      <Field label="URL" name="url" type="url" value={url} required />
      <Select
        label="Result of the sample"
        name="status"
        options={[
          ["completed", "completed, with an output"],
          ["failed", "failed, with an error"],
        ]}
      />
      {account === null ? null : (
        <Field
          label="As account"
          name="account"
          value={account}
          maxlength={64}
          hint="Signs with the secret of this account; empty for tasks without an account."
        />
      )}
      <p class="buttons">
        <button type="submit" class="button button-main">
          Send
        </button>
      </p>
    </form>
  );
}

/** The outcome of a test: the answer of the server, and the request as it was sent. */
function Outcome(result: Result) {
  const { outcome, status_code: code, duration_ms: ms, cause, response_excerpt: excerpt } = result;
  const { method, url, headers, body } = result.request;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
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

import { TaskId } from "../../api/http/fields.ts";
import { verdictOn } from "../../api/tasks/verify-callback.ts";
import { sampleMessage, signingAccount, testAsAccount } from "../../api/test-callback.ts";
import type { Account } from "../../core/record/task.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { CallbackFacts } from "../../core/views/task-facts.ts";
import { withFaultsIn } from "../http/form-fault.ts";
import { numberIn } from "../http/form-number.ts";
import { formAction, type FormVisit } from "../http/page.ts";
import { searchTarget } from "../search/search-target.ts";
import { type SentTest, showTest, type TestFields } from "./send-test-page.tsx";
import { callbackOf, readShownTask } from "../task/task-data.ts";
import { receivedIn } from "../task/doctor-page.tsx";

/** Sends a test callback, and shows what was sent and what the server answered. */
export const runTest = formAction("/test", "redeliver", sendSample, { rateLimit: "LIMIT_TESTS" });

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
 * Checks the signature of a callback that a server has received. It is compared with the test callback that was sent
 * before. When none was sent, it is compared with the callback of the task that the received headers name.
 */
export const diagnoseTest = formAction("/test/verify", "redeliver", async (visit) => {
  const { form, runtime, env, viewer } = visit;
  const fields = fieldsIn(form);
  const [sent, received] = [sentIn(form), receivedIn(form)];
  const named = searchTarget(received.headers);
  const id = named?.kind === "task" ? named.id : null;
  if (sent === null && id === null) {
    const text = "The headers name no task. Paste webhook-id too, or send a test first.";
    const fault = { form: "doctor", typed: form, issues: new Map([["headers", text]]), text: null };
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
  const verdict = await verdictOn(received, facts, Date.now(), runtime, env);
  return showTest(visit, { fields, sent, received, verdict });
});

function fieldsIn(form: URLSearchParams): TestFields {
  const text = (name: string) => (form.get(name) ?? "").trim();
  return { callback_url: text("callback_url"), status: text("status"), account: text("account") };
}

/** Reads from the form of a signature check which test callback was sent before. Null means that none was sent. */
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
  const attempt = { number: 1, series: 1, dueAt: null, startedAt, url, sentDigest: null };
  return {
    message: sampleMessage(id, result, account, origin, startedAt),
    url,
    attempts: [{ ...attempt, durationMs: null, outcome: null }],
    nextAttemptAt: null,
    series: { number: 1, total: 1, started: 1 },
  };
}

import { verifyCallback } from "../../api/callbacks/verify-callback.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Fault, Verdict } from "../../security/doctor/verdict.ts";
import type { SignerName } from "../../security/signers.ts";
import type { FormFault } from "../http/forms.ts";
import { html } from "../http/html-answer.ts";
import { formAction, viewerPage } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { durationText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Notice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { callbackOf, readShownTask, type TaskVisit } from "./task-data.ts";

const PATH = "/tasks/{id}/verify";

/** The page of the signature check, which finds out why a server refuses the callback of a task. */
export const doctorPage = viewerPage("doctorPage", PATH, "read", async (visit) => {
  callbackOf(await readShownTask(visit));
  return doctorAnswer(visit, null, { headers: "", body: "" });
});

/** Checks the signature of a callback that a server has received, and shows what is wrong with it. Changes nothing. */
export const diagnose = formAction("diagnose", PATH, "read", async (visit) => {
  const { form, viewer, params } = visit;
  const received = receivedIn(form);
  const verdict = await verifyCallback.perform({ params, body: received }, viewer, visit);
  return doctorAnswer(visit, verdict, received);
});

/** A callback that a server has received, as a viewer has pasted it into a form. */
export interface Pasted {
  readonly headers: string;
  readonly body: string;
}

/** Reads, from the form of a signature check, the pasted headers and body of a callback that a server has received. */
export function receivedIn(form: URLSearchParams): Pasted {
  // Browsers send line ends in forms as CRLF; the body of a callback contains no line ends.
  const body = (form.get("body") ?? "").replaceAll("\r\n", "\n");
  return { headers: form.get("headers") ?? "", body };
}

function doctorAnswer(
  visit: TaskVisit,
  verdict: Verdict | null,
  pasted: Pasted,
): Promise<Response> {
  const { id } = visit.params;
  return html(
    <Layout title="Signature doctor" frame={frameOf(visit)} section="tasks">
      <PageHead
        title="Why does my server refuse it?"
        sub={<a href={`/tasks/${id}`}>Task {id}</a>}
      />
      <div class="stack">
        {verdict === null ? null : <VerdictView verdict={verdict} />}
        <DoctorForm action={`/tasks/${id}/verify`} {...pasted} />
      </div>
    </Layout>,
  );
}

/** Shows whether the signature of a received callback is valid, and each fault that was found, with advice. */
export function VerdictView({
  verdict: { verdict, faults, signed_by, signed_with, account, attempt, age_s },
}: {
  readonly verdict: Verdict;
}) {
  const isIntact = verdict !== "invalid";
  const age =
    age_s === null
      ? ""
      : `, signed ${durationText(Math.abs(age_s) * SECOND_MS)} ${age_s < 0 ? "ahead" : "ago"}`;
  return (
    <div class="stack-s" id="verdict">
      {isIntact ? (
        <Notice
          tone={verdict === "valid" && faults.length === 0 ? "ok" : "warn"}
          icon={verdict === "valid" ? "check" : "clock"}
          title={`The signature is valid: ${signed_by.map((name) => signerText(name, account)).join(", ")}.`}
        >
          <p>
            {attempt === null ? "It is of no stored attempt" : `It is attempt ${attempt}`}
            {age}. It is signed with {signed_with}. If your server refuses it nevertheless, it
            verifies with another secret, or other bytes than those that you have pasted.
          </p>
        </Notice>
      ) : (
        <Notice tone="bad" icon="cross" title="The signature is not valid for what was received.">
          <p>
            {attempt === null
              ? "No stored attempt has this timestamp"
              : `Compared with attempt ${attempt}`}
            {age}.
          </p>
        </Notice>
      )}
      <ol class="faults stack-s">
        {faults.map((fault) => (
          <FaultView fault={fault} />
        ))}
      </ol>
    </div>
  );
}

/**
 * Returns a description of a secret or key, e.g. `secret no. 2 of acme (current)`.
 * @param account account that owns the secret, if the description is to name it.
 */
export function signerText(
  { scheme, age, generation, endpoint, relay_secret: place, kid }: SignerName,
  account?: string,
): string {
  if (scheme === "v1a") return `the Ed25519 key that begins with ${kid?.slice(0, 8) ?? ""}`;
  const old = place === undefined ? "" : ` of relay secret ${place}`;
  if (generation === undefined) return `the relay's ${age} secret`;
  const owner = endpoint === undefined ? account : `the endpoint ${endpoint}`;
  return `secret no. ${generation}${owner === undefined ? "" : ` of ${owner}`}${old} (${age})`;
}

function FaultView({
  fault: { code, message, cure, byte, sent, received },
}: {
  readonly fault: Fault;
}) {
  return (
    <li class="card stack-s">
      <h2>{message}</h2>
      <p>{cure}</p>
      {byte === undefined ? null : (
        <dl class="fields">
          <dt>First difference</dt>
          <dd>byte {byte}</dd>
          <dt>Sent</dt>
          <dd>
            <code>
              <Hostile text={sent === "" ? "(nothing)" : (sent ?? "")} />
            </code>
          </dd>
          <dt>Received</dt>
          <dd>
            <code>
              <Hostile text={received === "" ? "(nothing)" : (received ?? "")} />
            </code>
          </dd>
        </dl>
      )}
      <p class="small muted">
        <code>{code}</code>
      </p>
    </li>
  );
}

interface DoctorFormProps {
  /** Path to which the form is sent. */
  readonly action: string;
  /** Values of the hidden fields of the form, by name. */
  readonly hidden?: Readonly<Record<string, string>>;
  readonly headers?: string;
  readonly body?: string;
  readonly fault?: FormFault | null;
}

/** Form of the signature check, into which the viewer pastes the headers and the body that a server has received. */
export function DoctorForm({
  action,
  hidden = {},
  headers = "",
  body = "",
  fault = null,
}: DoctorFormProps) {
  const issue = fault?.issues.get("headers");
  return (
    <form class="stack-s doctor" method="post" action={action}>
      {Object.entries(hidden).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <p class="muted">
        Paste what your server has received. Any notation will do: lines of HTTP, JSON, options of
        curl, a printed map. Nothing is sent or stored.
      </p>
      <label class="field">
        <span>Headers</span>
        <textarea
          name="headers"
          rows={4}
          required
          {...(issue !== undefined && { "aria-invalid": "true" as const })}
          spellcheck={false}
          placeholder={"webhook-id: msg_…\nwebhook-timestamp: …\nwebhook-signature: v1,…"}
        >
          {fault?.typed.get("headers") ?? headers}
        </textarea>
      </label>
      {issue === undefined ? null : (
        <p class="field-error" role="alert">
          {issue}
        </p>
      )}
      <label class="field">
        <span>Body, exactly as received</span>
        <textarea name="body" rows={4} spellcheck={false} placeholder={'{"id":"…'}>
          {fault?.typed.get("body") ?? body}
        </textarea>
      </label>
      <div class="buttons">
        <button class="button" type="submit">
          Diagnose
        </button>
      </div>
    </form>
  );
}

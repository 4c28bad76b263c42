import type { FormFault } from "../http/form-fault.ts";

interface DoctorFormProps {
  /** Path to which the form is sent. */
  readonly action: string;
  /** Values of the hidden fields of the form, by name. */
  readonly hidden?: Readonly<Record<string, string>>;
  readonly headers?: string;
  readonly body?: string;
  readonly fault?: FormFault | null;
}

/**
 * Form with which the signature of a callback is checked. The headers and the body that a server has received are
 * pasted into it.
 */
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

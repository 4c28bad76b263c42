interface DoctorFormProps {
  readonly taskId: string;
  readonly headers?: string;
  readonly body?: string;
}

/** Form of the signature doctor, for the headers and the body that a server has received. */
export function DoctorForm({ taskId, headers = "", body = "" }: DoctorFormProps) {
  return (
    <form class="stack-s doctor" method="post" action={`/tasks/${taskId}/verify`}>
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
          spellcheck={false}
          placeholder={"webhook-id: msg_…\nwebhook-timestamp: …\nwebhook-signature: v1,…"}
        >
          {headers}
        </textarea>
      </label>
      <label class="field">
        <span>Body, exactly as received</span>
        <textarea name="body" rows={4} spellcheck={false} placeholder={'{"id":"…'}>
          {body}
        </textarea>
      </label>
      <div class="buttons">
        <button class="button button-main" type="submit">
          Diagnose
        </button>
      </div>
    </form>
  );
}

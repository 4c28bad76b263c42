import type { CallbackSecrets } from "../../api/accounts/account-secrets.ts";
import { Copy } from "../parts/copy.tsx";
import { DialogButton } from "../parts/dialog.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Panel } from "../parts/page-head.tsx";

const ROTATE = "rotate";

interface SecretsPanelProps {
  /** Path to which the form that rotates the secrets is sent. */
  readonly action: string;
  readonly secrets: CallbackSecrets;
  readonly mayOrder: boolean;
}

/**
 * Section with the secrets that sign the callbacks of an account or of an endpoint (hidden at first), the public keys
 * that verify the asymmetric signatures (`v1a`) on these callbacks, and a dialog to rotate the secrets.
 */
export function SecretsPanel({ action, secrets, mayOrder }: SecretsPanelProps) {
  const { generation, callbacks, public_keys: publicKeys } = secrets;
  return (
    <Panel
      title="Callback secrets"
      aside={
        mayOrder ? (
          <DialogButton opens={ROTATE} class="button button-small">
            Rotate
          </DialogButton>
        ) : undefined
      }
    >
      <dl class="fields">
        {callbacks.map((secret, at) => {
          const { age, number, from } = secretAt(at, callbacks.length, generation);
          return (
            <>
              <dt>
                {age === "current" ? "Current" : "Previous"} (no. {number}
                {from})
              </dt>
              <dd>
                <Masked secret={secret} what={`the ${age} secret${from}`} />
              </dd>
            </>
          );
        })}
        {publicKeys.map((key) => (
          <>
            <dt>Public key</dt>
            <dd>
              <span class="id">
                {key} <Copy text={key} what="the public key" />
              </span>
            </dd>
          </>
        ))}
      </dl>
      {mayOrder ? <RotateDialog action={action} generation={generation} /> : null}
    </Panel>
  );
}

/**
 * Returns which secret stands at a place of the list of secrets. For each generation, the list has a secret of each
 * value of `RELAY_SECRET`; `from` names a value that is not the newest. The list has the present generation and, if
 * there was a rotation, the previous one.
 */
function secretAt(place: number, length: number, generation: number) {
  const relaySecrets = generation > 1 ? length / 2 : length;
  const [back, nth] = [Math.floor(place / relaySecrets), place % relaySecrets];
  const from = nth === 0 ? "" : `, of relay secret ${nth + 1}`;
  return { age: back === 0 ? "current" : "previous", number: generation - back, from };
}

function RotateDialog(props: { readonly action: string; readonly generation: number }) {
  const { action, generation } = props;
  return (
    <FormDialog id={ROTATE} title="Rotate the callback secret?" action={action} send="Rotate">
      <input type="hidden" name="generation" value={String(generation)} />
      <RotationDrawing generation={generation} />
      <p>
        Every callback has a signature for the current and the next secret and, after a rotation,
        for the previous one, so that none is refused while the client changes to the new one.
        Rotate again only when it has.
      </p>
    </FormDialog>
  );
}

/**
 * A secret that can be copied without being shown. Only its last four characters are visible until the viewer asks for
 * all of it.
 */
function Masked({ secret, what }: { readonly secret: string; readonly what: string }) {
  return (
    <div class="masked">
      <details>
        <summary>
          <code>whsec_••••••••{secret.slice(-4)}</code> <span class="small">show</span>
        </summary>
        <code>{secret}</code>
      </details>
      <Copy text={secret} what={what} />
    </div>
  );
}

/** Drawing that shows with which secrets the callbacks of an account are signed, before and after a rotation. */
function RotationDrawing({ generation: now }: { readonly generation: number }) {
  const lanes = [now - 1, now, now + 1, now + 2].filter((lane) => lane > 0);
  const before = lanes.filter((lane) => lane <= now + 1).join(", ");
  const after = lanes.filter((lane) => lane >= now).join(", ");
  return (
    <>
      <p class="visually-hidden">
        Now the secrets {before} sign; after the rotation {after}.
      </p>
      <svg class="rotation" viewBox={`0 0 440 ${lanes.length * 24 + 22}`} aria-hidden="true">
        <text x="84">now</text>
        <text x="266">after the rotation</text>
        {lanes.map((lane, at) => (
          <g transform={`translate(0 ${at * 24 + 22})`}>
            <text>secret {lane}</text>
            <Bar x={84} word={["previous", "current", "next"][lane - now + 1]} />
            <Bar x={266} word={["previous", "current", "next"][lane - now]} />
          </g>
        ))}
      </svg>
    </>
  );
}

/**
 * Bar for one callback secret in the drawing of a rotation, with a word for its age (previous, current, next). It is
 * empty at a time when the secret does not sign callbacks.
 */
function Bar({ x, word }: { readonly x: number; readonly word: string | undefined }) {
  if (word === undefined) return null;
  return (
    <>
      <rect x={x} width="174" height="18" rx="4" class={word} />
      <text x={x + 8}>{word}</text>
    </>
  );
}

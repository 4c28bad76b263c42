import type { ApiDocument, Operation } from "./document.ts";
import { Code } from "../../src/console/parts/code.tsx";
import type { ContentsEntry } from "./docs-layout.tsx";
import { Parameters, SchemaMembers } from "./members.tsx";
import type { Reference } from "./schemas.ts";
import { Prose } from "./prose.tsx";
import { Schedule } from "./schedule.tsx";

/** Entries of the chapter on callbacks, for the table of contents. */
export const CALLBACKS: readonly ContentsEntry[] = [
  { id: "callbacks", title: "When they are sent" },
  { id: "callback-headers", title: "Headers and repeats" },
  { id: "callback-signatures", title: "Signatures" },
  { id: "task.completed", title: "task.completed" },
  { id: "task.failed", title: "task.failed" },
  { id: "task.processing", title: "task.processing" },
];

const VERIFY = `import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.CALLBACK_SECRET);
const seen = new Set(); // in production: a unique column in your database

export async function receive(request) {
  const task = webhook.verify(await request.text(), Object.fromEntries(request.headers));
  const isNew = !seen.has(request.headers.get("webhook-id"));
  if (isNew) seen.add(request.headers.get("webhook-id"));
  return { task, isNew };
}`;

interface CallbacksProps {
  readonly document: ApiDocument;
  readonly reference: Reference;
}

/** The chapter on callbacks, the requests by which the relay reports the ends of tasks. */
export function Callbacks({ document, reference }: CallbacksProps) {
  const { webhooks } = document;
  const completed = webhooks["task.completed"]?.post;
  const failed = webhooks["task.failed"]?.post;
  return (
    <>
      <Sending />
      <section class="topic" id="callback-headers" data-entry="">
        <h3>
          <a href="#callback-headers">Headers and repeats</a>
        </h3>
        <p>
          Delivery is at least once: a receiver that answered just before a crash may get the same
          callback again, with the same <code>webhook-id</code>.
        </p>
        <Parameters parameters={completed?.parameters ?? []} reference={reference} />
      </section>
      <Signatures document={document} />
      <Body name="task.completed" operation={completed} reference={reference} />
      <Body name="task.failed" operation={failed} reference={reference} />
      <Body
        name="task.processing"
        operation={webhooks["task.processing"]?.post}
        reference={reference}
      />
    </>
  );
}

function Sending() {
  return (
    <section class="topic" id="callbacks" data-entry="">
      <h3>
        <a href="#callbacks">When they are sent</a>
      </h3>
      <p>
        When a task ends, the relay sends <code>POST</code> to its <code>callback_url</code>, with
        the result as the body: the same bytes at every attempt. Any 2xx within 10 seconds is
        success. Otherwise there is a second attempt 3 minutes after the first ended, and a third
        one 10 minutes after the second. Redirects are not followed, and a <code>Retry-After</code>{" "}
        does not change the schedule.
      </p>
      <Schedule />
      <p class="muted">
        <code>CALLBACK_SCHEDULE_S</code> and <code>CALLBACK_TIMEOUT_S</code> change these times for
        the whole relay. A failed task whose credits are refunded is announced after the refund.
      </p>
    </section>
  );
}

function Signatures({ document }: Pick<CallbacksProps, "document">) {
  const { signatureV1, signatureV1a } = document.components.securitySchemes;
  return (
    <section class="operation" id="callback-signatures" data-entry="">
      <div>
        <h3>
          <a href="#callback-signatures">Signatures</a>
        </h3>
        <p>
          Every callback has both kinds of signature in the header <code>webhook-signature</code>;
          verify the one that suits you, over the bytes as they were received. Any{" "}
          <a href="https://www.standardwebhooks.com" rel="noreferrer">
            Standard Webhooks
          </a>{" "}
          library verifies <code>v1</code>; <code>verify</code> of the package{" "}
          <code>task-relay-client</code> verifies both.
        </p>
        <dl class="signatures">
          <dt>
            <code>v1</code>: HMAC-SHA256 with your secret
          </dt>
          <dd>
            <Prose text={signatureV1?.description ?? ""} />
          </dd>
          <dt>
            <code>v1a</code>: Ed25519 with a public key
          </dt>
          <dd>
            <Prose text={signatureV1a?.description ?? ""} />
          </dd>
        </dl>
        <p>
          <a href="#readAccountSecrets">Read account secrets</a> returns the secrets of an account.
          A callback is signed with the secret before, the present one and the next one, so a
          receiver may change its secret at any moment around a rotation.
        </p>
      </div>
      <div class="operation-code">
        <Code text={VERIFY} what="code that verifies a callback" title="Verify in JavaScript" />
      </div>
    </section>
  );
}

interface BodyProps {
  readonly name: string;
  readonly operation: Operation | undefined;
  readonly reference: Reference;
}

/** Section on one kind of request that the relay sends: when it is sent, its body, and an example. */
export function Body({ name, operation, reference }: BodyProps) {
  const body = operation?.requestBody?.content["application/json"];
  if (operation === undefined || body === undefined) return null;
  return (
    <section class="operation" id={name} data-entry="">
      <div>
        <h3>
          <a href={`#${name}`}>
            <code>{name}</code>
          </a>
        </h3>
        <p>{operation.summary}.</p>
        <p class="muted">
          <Prose text={operation.description ?? ""} />
        </p>
        <h4>Body</h4>
        <SchemaMembers schema={body.schema} reference={reference} />
      </div>
      <div class="operation-code">
        <Code
          text={JSON.stringify(body.example, null, 2)}
          language="json"
          what={`an example of ${name}`}
          title="Body"
        />
      </div>
    </section>
  );
}

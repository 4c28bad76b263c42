import { PROBLEMS } from "../../src/api/http/problem-list.ts";
import { exampleCurl } from "./example-curl.ts";
import { type Endpoint, titleOf } from "./document.ts";
import { Code } from "../../src/console/parts/code.tsx";
import { Tabs } from "../../src/console/parts/tabs.tsx";
import { Answers, examplesOf } from "./answers.tsx";
import { Parameters, SchemaMembers } from "./members.tsx";
import type { Reference } from "./schemas.ts";
import { Prose, sentence } from "./prose.tsx";

interface OperationProps {
  readonly endpoint: Endpoint;
  readonly reference: Reference;
}

/**
 * The section of an operation. Its description is on the left, examples of a call and its answers are on the right.
 */
export function Operation({ endpoint, reference }: OperationProps) {
  const { operationId: id, method, path, summary, description, parameters = [] } = endpoint;
  const title = titleOf(id);
  return (
    <section class="operation" id={id} data-entry="">
      <div>
        <h3>
          <a href={`#${id}`}>{title}</a>
        </h3>
        <p class="endpoint">
          <span class={`badge badge-${method}`}>{method}</span> <code>{path}</code>
        </p>
        <p>
          <Prose text={sentence(summary)} />
        </p>
        {description === undefined ? null : (
          <p class="muted">
            <Prose text={description} />
          </p>
        )}
        <Parameters parameters={parameters} reference={reference} />
        <RequestBody endpoint={endpoint} reference={reference} />
        <Answers endpoint={endpoint} reference={reference} />
        <Problems endpoint={endpoint} />
      </div>
      <div class="operation-code">
        <Code text={exampleCurl(endpoint)} what={`the curl command of ${title}`} title="curl" />
        <Tabs name={`${id}-answers`} label="Answer" tabs={examplesOf(endpoint)} />
      </div>
    </section>
  );
}

function RequestBody({ endpoint: { requestBody }, reference }: OperationProps) {
  const body = requestBody?.content["application/json"];
  if (body === undefined) return null;
  if (Object.keys(body.schema.properties ?? body.schema.oneOf ?? {}).length === 0) return null;
  return (
    <>
      <h4>Body</h4>
      <SchemaMembers schema={body.schema} reference={reference} />
    </>
  );
}

/** The problems (error answers) that an API operation may give. Each links to its cause and cure. */
function Problems({ endpoint }: Pick<OperationProps, "endpoint">) {
  const codes = new Set(endpoint["x-problems"]);
  const problems = Object.entries(PROBLEMS).filter(([code]) => codes.has(code));
  if (problems.length === 0) return null;
  return (
    <>
      <h4>Problems</h4>
      <ul class="problems">
        {problems.map(([code, { status, title }]) => (
          <li>
            <span class="muted">{status}</span>{" "}
            <a href={`/docs/errors#${code}`} title={title}>
              <code>{code}</code>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

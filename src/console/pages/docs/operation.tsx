import { PROBLEMS } from "../../../api/http/problem-list.ts";
import { exampleCurl } from "../../parts/curl.ts";
import { type Endpoint, titleOf } from "../../docs/document.ts";
import { Code } from "../../parts/code.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Answers, examplesOf } from "./answers.tsx";
import { Parameters, SchemaMembers } from "./members.tsx";
import type { Reference } from "../../docs/schemas.ts";
import { Prose, sentence } from "./prose.tsx";

interface OperationProps {
  readonly endpoint: Endpoint;
  readonly reference: Reference;
  readonly origin: string;
}

/**
 * The section of an operation. Its description is on the left, examples of a call and its answers are on the right.
 */
export function Operation({ endpoint, reference, origin }: OperationProps) {
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
        <Code
          text={exampleCurl(endpoint, origin)}
          what={`the curl command of ${title}`}
          title="curl"
        />
        <Tabs name={`${id}-answers`} label="Answer" tabs={examplesOf(endpoint, origin)} />
      </div>
    </section>
  );
}

function RequestBody({ endpoint: { requestBody }, reference }: Omit<OperationProps, "origin">) {
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

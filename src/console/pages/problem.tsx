import type { Problem } from "../../api/http/problem.ts";
import { PROBLEMS } from "../../api/http/problem-list.ts";
import { html } from "../answer.ts";
import { Layout } from "../parts/layout.tsx";

/** Answers with the page of a problem, which has the status and the headers of the API's answer. */
export function problemPage({ code, details }: Problem, requestId: string): Promise<Response> {
  const { status, title, cure } = PROBLEMS[code];
  const page = (
    <Layout title={title}>
      <h1>{title}</h1>
      <p>{details.detail}</p>
      <p>{cure}</p>
      <p>
        Status {status}, <a href={`/docs/errors#${code}`}>{code}</a>, request{" "}
        <code>{requestId}</code>
      </p>
    </Layout>
  );
  return html(page, status, details.headers);
}

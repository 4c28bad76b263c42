import type { Problem } from "../../api/http/problem.ts";
import { PROBLEM_HELP } from "../../api/http/problem-help.ts";
import { PROBLEMS } from "../../api/http/problem-list.ts";
import { html } from "../answer.ts";
import { PublicLayout } from "../parts/public-layout.tsx";

/** Answers with the page of a problem, which has the status and the headers of the API's answer. */
export function problemPage({ code, details }: Problem, requestId: string): Promise<Response> {
  const { status, title } = PROBLEMS[code];
  const page = (
    <PublicLayout title={title}>
      <p class="problem-status">{status}</p>
      <h1>{title}</h1>
      <div class="stack-s problem-text">
        <p>{details.detail}</p>
        <p>{PROBLEM_HELP[code].cure}</p>
        <p class="buttons">
          <a class="button" href="/">
            Overview
          </a>
          <a class="button button-plain" href={`/docs/errors#${code}`}>
            About {code}
          </a>
        </p>
        <p class="muted small">
          Request <code>{requestId}</code>
        </p>
      </div>
    </PublicLayout>
  );
  return html(page, status, details.headers);
}

import type { ProblemCode } from "../../api/http/problem-list.ts";
import { themeOf } from "../layout/layout.tsx";
import { html } from "../http/html-answer.ts";
import { brandOf, CustomerLayout, customerHeaders } from "./customer-layout.tsx";
import type { Env } from "../../env.ts";

interface RefusedLink {
  readonly request: Request;
  readonly env: Env;
  readonly code: ProblemCode;
  readonly status: number;
  /** Id of the request in the log. */
  readonly requestId: string;
  /** Further headers of the response. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Words {
  readonly title: string;
  readonly text: string;
}

const NOT_NOW: Words = {
  title: "Not available right now",
  text: "Nothing is lost. Try again in a moment.",
};

/** Texts for refusals, in words for a customer. For all other codes `NOT_NOW` is shown. */
const WORDS: Partial<Record<ProblemCode, Words>> = {
  unauthenticated: {
    title: "This link does not work",
    text: "It has expired, or was not copied whole. Ask whoever gave you this link for a new one.",
  },
  invalid_request: {
    title: "This link does not work",
    text: "It was not copied as it is. Ask whoever gave you this link for a new one.",
  },
  unknown_task: {
    title: "There is nothing here any more",
    text: "What this link led to was deleted. Ask whoever gave you this link.",
  },
  rate_limited: {
    title: "Too many requests",
    text: "This link was opened too often. Try again in a minute.",
  },
};

/** Returns the page for a customer whose status link the relay has refused. */
export async function refusedLinkPage(refused: RefusedLink): Promise<Response> {
  const { request, env, code, status, requestId, headers } = refused;
  const { title, text } = WORDS[code] ?? NOT_NOW;
  const brand = brandOf(env);
  const page = (
    <CustomerLayout title={title} theme={themeOf(request)} brand={brand}>
      <div>
        <h1>{title}</h1>
        <p>{text}</p>
      </div>
      <p class="muted small">
        If you ask for help, give this number: <code>{requestId}</code>
      </p>
    </CustomerLayout>
  );
  return html(page, status, { ...(await customerHeaders(brand, [])), ...headers });
}

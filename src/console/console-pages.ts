/** The console: pages for people, which the Worker renders. Only src/app.ts imports this file. */
import { Hono } from "hono/tiny";
import { honoPath } from "../api/http/path.ts";
import { Problem } from "../api/http/problem.ts";
import { DOCUMENT_HEADERS } from "../api/http/security-headers.ts";
import type { Env } from "../env.ts";
import type { Page } from "./http/page.ts";
import {
  accountPage,
  addKey,
  changeSettings,
  endKey,
  grant,
  rotate,
} from "./account/account-page.tsx";
import { accountsPage, addAccount } from "./accounts/accounts-page.tsx";
import { attemptsPage } from "./attempts/attempts-page.tsx";
import { providersPage } from "./providers/providers-page.tsx";
import { problemPage, type Refused } from "./problem/problem-page.tsx";
import {
  hostPage,
  pauseHostForm,
  redeliverOne,
  resumeHostForm,
  testHost,
} from "./host/host-page.tsx";
import { hostsPage } from "./hosts/hosts-page.tsx";
import { loginCheck, loginPage, logIn, logOut } from "./login/login-page.tsx";
import {
  bulkRedeliveryPage,
  bulkRedeliveryStep,
  redeliverSelectedForm,
} from "./bulk-redelivery/bulk-redelivery-page.tsx";
import { newerTasks, tasksPage } from "./tasks/tasks-page.tsx";
import { overviewPage } from "./overview/overview-page.tsx";
import { runSandboxTask } from "./overview/first-steps.tsx";
import { testPage, diagnoseTest, runTest } from "./send-test/send-test-page.tsx";
import { searchPage } from "./search/search-page.ts";
import { cancel, deleteOutputsForm, erase, redeliver, taskPage } from "./task/task-page.tsx";
import { diagnose, doctorPage } from "./task/doctor-page.tsx";
import {
  accountEndpointPage,
  deleteAccountEndpointForm,
  deleteRelayEndpointForm,
  relayEndpointPage,
  rotateAccountEndpoint,
  rotateRelayEndpoint,
  storeAccountEndpoint,
  storeRelayEndpoint,
  testAccountEndpoint,
  testRelayEndpoint,
} from "./endpoints/endpoint-page.tsx";
import { relayEndpointsPage } from "./endpoints/relay-endpoints-page.tsx";
import { offersPage } from "./offers/offers-page.tsx";
import {
  deleteOfferForm,
  offerPage,
  restoreOfferForm,
  storeOffer,
  tryOfferForm,
} from "./offers/offer-page.tsx";
import { submitListPage } from "./submit/submit-list-page.tsx";
import { submitByForm, submitPage } from "./submit/submit-page.tsx";
import { offerSandbox } from "./submit/sandbox-offers.ts";
import { statusPage } from "./status/status-page.tsx";

/** All pages of the console, and the handlers of all forms on them. */
export const PAGES: readonly Page[] = [
  overviewPage,
  runSandboxTask,
  searchPage,
  tasksPage,
  newerTasks,
  attemptsPage,
  bulkRedeliveryPage,
  bulkRedeliveryStep,
  redeliverSelectedForm,
  hostsPage,
  hostPage,
  testHost,
  redeliverOne,
  pauseHostForm,
  resumeHostForm,
  taskPage,
  statusPage,
  redeliver,
  cancel,
  deleteOutputsForm,
  erase,
  doctorPage,
  diagnose,
  loginPage,
  loginCheck,
  logIn,
  logOut,
  accountsPage,
  addAccount,
  accountPage,
  grant,
  changeSettings,
  addKey,
  endKey,
  rotate,
  accountEndpointPage,
  storeAccountEndpoint,
  testAccountEndpoint,
  rotateAccountEndpoint,
  deleteAccountEndpointForm,
  relayEndpointsPage,
  relayEndpointPage,
  storeRelayEndpoint,
  testRelayEndpoint,
  rotateRelayEndpoint,
  deleteRelayEndpointForm,
  offersPage,
  offerPage,
  storeOffer,
  tryOfferForm,
  deleteOfferForm,
  restoreOfferForm,
  submitListPage,
  submitPage,
  submitByForm,
  offerSandbox,
  providersPage,
  testPage,
  runTest,
  diagnoseTest,
];

const pages = new Hono<{ Bindings: Env }>();

for (const page of PAGES) {
  pages.on(page.method, honoPath(page.path), ({ req, env }) =>
    page.answer({ request: req.raw, env, url: new URL(req.url), params: req.param() }),
  );
}

pages.all("*", () => {
  throw noPage();
});

// The relay's own application, which calls this one, answers errors with a page and logs them.
pages.onError((error) => {
  throw error;
});

/**
 * Returns the response to a browser's request for a page, or for a file that pages load.
 * @throws Problem when the page cannot be shown, e.g. `not_found` when the console has no such page.
 */
export async function answerBrowser(request: Request, env: Env): Promise<Response> {
  return forBrowser(await pages.fetch(request, env), request);
}

/**
 * Returns the page that shows a problem (RFC 9457) to a person.
 * @param refused the refused request, and the id of the request in the log.
 */
export async function answerProblem(problem: Problem, refused: Refused): Promise<Response> {
  return forBrowser(await problemPage(problem, refused), refused.request);
}

/**
 * Returns the response with the headers of documents, compressed if the browser accepts this. A redirect needs the
 * headers too, because browsers compare the `Cross-Origin-Opener-Policy` of all responses on the way to a page.
 */
function forBrowser(response: Response, request: Request): Response {
  for (const [name, value] of Object.entries(DOCUMENT_HEADERS)) response.headers.set(name, value);
  return compressed(response, request);
}

/**
 * Returns the response with the header that makes workerd compress it, if the browser accepts gzip. (Cloudflare
 * compresses even without this header.) Cloudflare and `wrangler dev` replace the browser's header `Accept-Encoding`,
 * and keep its original value in `cf.clientAcceptEncoding`.
 */
function compressed(response: Response, { headers, cf }: Request): Response {
  const accepted = cf?.["clientAcceptEncoding"] ?? headers.get("Accept-Encoding");
  const acceptsGzip = typeof accepted === "string" && /\bgzip\b/.test(accepted);
  if (response.body === null || !acceptsGzip) return response;
  response.headers.set("Content-Encoding", "gzip");
  response.headers.append("Vary", "Accept-Encoding");
  return response;
}

function noPage(): Problem {
  return new Problem("not_found", { detail: "The console has no page with this address." });
}

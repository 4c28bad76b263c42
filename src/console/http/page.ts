import type { PathParams } from "../../api/http/path.ts";
import { paramsReader } from "../../api/http/path.ts";
import { calledOrigin } from "../../api/http/link-origin.ts";
import { Problem } from "../../api/http/problem.ts";
import { type AccountLimit, countRequest } from "../../api/http/rate-limit.ts";
import { requireRuntime } from "../../api/http/route.ts";
import { type Context, named } from "../../api/operation.ts";
import type { Env } from "../../env.ts";
import { type KeyHolder, may } from "../../objects/task/caller.ts";
import { describeHolders, type Permission } from "../../security/roles.ts";
import { visitorOf } from "../session/session.ts";
import { strangerAnswer } from "../session/stranger.tsx";
import { readForm, requireOwnForm } from "./forms.ts";

/** Parameters of a path, as the texts that were received, not yet checked. */
type Params = Readonly<Record<string, string>>;

/** A browser's request for a page, with the parameters of the path. The visitor may be anyone, logged in or not. */
interface Visit<P = Params> {
  readonly request: Request;
  readonly env: Env;
  readonly url: URL;
  readonly params: P;
}

/** A request of somebody who is logged in and has the permission that the page needs. */
export interface ViewerVisit<P = Params> extends Visit<P>, Context {
  readonly viewer: KeyHolder;
  /**
   * Checks again that the viewer's login is valid, for a page that waits for a change.
   * @throws LoginEnded when it is not.
   */
  readonly requireCurrent: () => Promise<void>;
}

/** Error for a viewer's login that has ended while the viewer waited for a response. */
class LoginEnded extends Error {
  override readonly name = "LoginEnded";
}

/** A request with which a logged-in viewer sends a form, together with the fields of the form. */
export interface FormVisit<P = Params> extends ViewerVisit<P> {
  readonly form: URLSearchParams;
  /** Rate limit that has already counted this form, and must not count the operations for which the form asks. */
  readonly counted: AccountLimit;
}

/** Rate limit of a form, and the response when it is reached. */
interface FormLimit<P> {
  /** Rate limit that counts the form; `LIMIT_LISTS` when absent. */
  readonly rateLimit?: AccountLimit;
  /** Returns the response to a form when the rate limit is reached. When absent, the response is 429. */
  readonly onLimit?: (visit: ViewerVisit<P>, problem: Problem) => Response;
}

/**
 * Handler of one method and path of the console: it shows a page (GET), or makes the change for which a form asks
 * (POST).
 */
export interface Page {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly access: Permission | "anyone";
  readonly answer: (visit: Visit) => Promise<Response>;
}

/**
 * Declares a page that needs no login, and that works even while the configuration is not valid.
 * @param name name of the constant to which the page is assigned, as in `viewerPage`, `formAction` and `publicForm`.
 * Stack traces of the minified build call the function `answer` by this name.
 */
export function publicPage<Path extends string>(
  name: string,
  path: Path,
  answer: (visit: Visit<PathParams<Path>>) => Promise<Response>,
): Page {
  const readParams = paramsReader(path);
  const work = named(name, async (visit: Visit<PathParams<Path>>) => await answer(visit));
  return {
    method: "GET",
    path,
    access: "anyone",
    answer: (visit) => work({ ...visit, params: readParams(visit.params) }),
  };
}

/** Declares the handler of a form that needs no login. A form that another site has sent is refused. */
export function publicForm(
  name: string,
  path: string,
  answer: (visit: Visit) => Promise<Response>,
): Page {
  const work = named(name, async (visit: Visit) => await answer(visit));
  return {
    method: "POST",
    path,
    access: "anyone",
    answer: async (visit) => {
      requireOwnForm(visit.request, visit.env);
      return work(visit);
    },
  };
}

/** Declares a page for viewers who have a permission. Visitors who are not logged in are redirected to the login. */
export function viewerPage<Path extends string>(
  name: string,
  path: Path,
  access: Permission,
  answer: (visit: ViewerVisit<PathParams<Path>>) => Promise<Response>,
): Page {
  const readParams = paramsReader(path);
  const work = named(name, async (visit: ViewerVisit<PathParams<Path>>) => await answer(visit));
  return {
    method: "GET",
    path,
    access,
    answer: (visit) =>
      asViewer(visit, access, (seen) => work({ ...seen, params: readParams(visit.params) })),
  };
}

/**
 * Declares the handler of a form by which viewers who have a permission change something. When another site has sent
 * the form, or the account has reached the rate limit, the form is refused before its fields are read.
 */
export function formAction<Path extends string>(
  name: string,
  path: Path,
  access: Permission,
  answer: (visit: FormVisit<PathParams<Path>>) => Promise<Response>,
  { rateLimit: counted = "LIMIT_LISTS", onLimit }: FormLimit<PathParams<Path>> = {},
): Page {
  const readParams = paramsReader(path);
  const work = named(name, async (visit: FormVisit<PathParams<Path>>) => await answer(visit));
  return {
    method: "POST",
    path,
    access,
    answer: async (visit) => {
      requireOwnForm(visit.request, visit.env);
      return asViewer(visit, access, async (viewed) => {
        const seen = { ...viewed, params: readParams(visit.params) };
        try {
          await countRequest(counted, seen.viewer, seen.env);
        } catch (error) {
          if (onLimit === undefined || !(error instanceof Problem)) throw error;
          return onLimit(seen, error);
        }
        const form = await readForm(visit.request, seen.runtime);
        return work({ ...seen, form, counted });
      });
    },
  };
}

/**
 * Calls the handler of a page if the viewer has the permission, and renews the session. A visitor who is not logged in
 * is redirected to the login.
 * @throws Problem `forbidden` when the viewer does not have the permission.
 */
async function asViewer(
  visit: Visit,
  access: Permission,
  answer: (visit: ViewerVisit) => Promise<Response>,
): Promise<Response> {
  const { request, env } = visit;
  const runtime = requireRuntime(env);
  const visitor = await visitorOf(request, runtime, env);
  if (visitor === null) return strangerAnswer(request);
  const { viewer, renewal } = visitor;
  if (!may(viewer, access)) {
    const detail = `This page needs ${describeHolders(access)}.`;
    throw new Problem("forbidden", { detail });
  }
  const requireCurrent = async () => {
    if ((await visitorOf(request, runtime, env)) === null) throw new LoginEnded();
  };
  const viewed = { ...visit, runtime, viewer, ...calledOrigin(request, visit.url), requireCurrent };
  const response = await answer(viewed).catch((error: unknown) => {
    if (error instanceof LoginEnded) return strangerAnswer(request);
    throw error;
  });
  if (renewal !== null) response.headers.append("Set-Cookie", renewal);
  return response;
}

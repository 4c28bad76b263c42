import { join } from "node:path";
import { expect, it } from "vitest";
import * as z from "zod";
import { ROOT } from "../harness/child.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { LoopbackServer } from "../harness/loopback.ts";
import { Workerd } from "../harness/workerd.ts";
import { FRAMINGS, headOf, stopAfter } from "./stopped-client.ts";

/** Time in milliseconds in which the whole body of a request must arrive, and what a slow machine may need besides. */
const LIMIT_MS = 30_000;
const SLACK_MS = 15_000;

/** Routes that read a body which their declaration does not describe, because its form is not the relay's. */
const READS_FOREIGN_BODY: readonly string[] = ["submitJob", "receiveHook", "callTools"];
/** Routes and forms that are answered before a body has come, because they need none. */
const READS_NO_BODY: readonly string[] = ["/logout"];
/** Routes whose answer goes on after it has begun: a stream of events. */
const ANSWERS_ON: readonly string[] = ["streamTask"];

const Routes = z.object({
  ROUTES: z.array(
    z.object({ id: z.string(), method: z.string(), path: z.string(), body: z.unknown() }),
  ),
});
const Pages = z.object({ PAGES: z.array(z.object({ method: z.string(), path: z.string() })) });

/** Imports a file of `src`, whose types are those of the Worker and not of Node. */
const fromSource = (path: string): Promise<unknown> => import(join(ROOT, "src", path));
const { ROUTES } = Routes.parse(await fromSource("api/routes.ts"));
const { PAGES } = Pages.parse(await fromSource("console/console-pages.ts"));

/** An upstream that takes a file, and answers at its end. */
const upstream = await forThisFile(
  new LoopbackServer((request, response) => {
    request.resume().once("end", () => response.end("{}"));
  }).listen(),
);
const relay = await forThisFile(
  Workerd.start({
    vars: {
      ...LOCAL_VARS,
      SANDBOX: "true",
      LISTEN: "true",
      OPENAI_VIDEOS_API_KEY: "process-test-videos-key",
      OPENAI_VIDEOS_BASE_URL: upstream.origin,
    },
  }),
);
const task = await relay.client.register({ provider: "ark" });

/** Values of the parameters in paths with which a request reaches its body. */
const PARAMS: Readonly<Record<string, string>> = {
  id: task.id,
  connection: "sandbox",
  endpoint: "orders",
  "+path": "jobs",
  number: "1",
  output: "1",
};

function urlOf(path: string): string {
  if (path.startsWith("/hooks/")) return task.hook_url;
  return relay.url + path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => PARAMS[name] ?? "acct_1");
}

/** Logs in, and returns the headers of the forms of the console. */
async function ofBrowser(): Promise<readonly string[]> {
  const login = await fetch(`${relay.url}/login`, {
    method: "POST",
    body: new URLSearchParams({ key: OPERATOR_KEY }),
    headers: { "Sec-Fetch-Site": "same-origin" },
    redirect: "manual",
  });
  const [cookie = ""] = (login.headers.get("Set-Cookie") ?? "").split(";");
  return [`Cookie: ${cookie}`, "Sec-Fetch-Site: same-origin", "Accept: text/html"];
}

/** A route, or the handler of a form, with the headers of its caller. */
interface Target {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly isRead: boolean;
  readonly isEnded: boolean;
  /** True when a body without a stated length is refused unread. */
  readonly needsLength?: true;
}

const routes = ROUTES.map(({ id, method, path, body }): Target => {
  const isRead = body !== null || READS_FOREIGN_BODY.includes(id);
  const headers = [`Authorization: Bearer ${OPERATOR_KEY}`];
  return { method, path, headers, isRead, isEnded: !ANSWERS_ON.includes(id) };
});
const forms = PAGES.filter(({ method }) => method === "POST").map(
  async ({ method, path }): Promise<Target> => {
    const isRead = !READS_NO_BODY.includes(path);
    return { method, path, headers: await ofBrowser(), isRead, isEnded: true };
  },
);

/** A file of a client, which is passed on while it comes, and whose length must be stated. */
const upload: Target = {
  method: "POST",
  path: "/v1/submit/openai-videos/v1/files",
  headers: [`Authorization: Bearer ${OPERATOR_KEY}`],
  isRead: true,
  isEnded: true,
  needsLength: true,
};

/** Each target, with what became of a client that stopped in the middle of its body. All have stopped at the same time. */
const stopped = await Promise.all(
  [...routes, upload, ...(await Promise.all(forms))].flatMap((target) =>
    FRAMINGS.map(async (framing) => {
      const isStated = framing.header.startsWith("Content-Length");
      const isRead = target.isRead && (isStated || target.needsLength !== true);
      const text = headOf(target.method, urlOf(target.path), target.headers, framing);
      const ended = await stopAfter(relay.url, text, LIMIT_MS + SLACK_MS);
      return { ...target, isRead, framing: framing.header, ended };
    }),
  ),
);

it.each(stopped.filter(({ isRead }) => isRead))(
  "$method $path answers 408 and closes the connection when a body with $framing has not ended after 30 seconds",
  ({ ended: { status, afterMs } }) => {
    expect(status).toBe(408);
    expect(afterMs).toBeGreaterThan(LIMIT_MS - 1_000);
  },
);

it.each(stopped.filter(({ isRead }) => !isRead))(
  "$method $path answers without waiting for the end of a body with $framing, because it does not read this body",
  ({ isEnded, ended: { status, afterMs } }) => {
    expect(status).not.toBeNull();
    if (isEnded) expect(afterMs).toBeLessThan(SLACK_MS);
  },
);

import type { readPresentProblems } from "../../api/search/read-problems.ts";
import { countOf, countText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Notice } from "../parts/notice.tsx";
import { Time } from "../parts/shown-time.tsx";

/**
 * A present problem of the relay, e.g. a host to which callbacks are failing, in the form in which `GET /v1/problems`
 * lists it.
 */
export type PresentProblem = Awaited<
  ReturnType<typeof readPresentProblems.perform>
>["data"][number];

/**
 * Colour and icon of a problem of the relay, by its severity. The severity `notice` has none, because such problems are
 * in a folded list.
 */
const LOOKS = {
  error: ["bad", "cross"],
  warning: ["warn", "warn"],
} as const;

/**
 * Lists the present problems of the relay, the most serious first. Each has links to pages that help to end it, if
 * there are any.
 */
export function Problems({ problems }: { readonly problems: readonly PresentProblem[] }) {
  const notices = problems.filter(({ severity }) => severity === "notice");
  return (
    <>
      <ul class="stack-s">
        {problems.map((problem) => (
          <OneProblem problem={problem} />
        ))}
      </ul>
      {notices.length === 0 ? null : (
        <details class="details notices">
          <summary>{countOf(notices.length, "note")} on the configuration</summary>
          <ul>
            {notices.map(({ detail }) => (
              <li>
                <Hostile text={detail} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function OneProblem({ problem }: { readonly problem: PresentProblem }) {
  if (problem.severity === "notice") return null;
  const [tone, icon] = LOOKS[problem.severity];
  const actions = remediesOf(problem).map(({ title, path }) => (
    <a class="button button-small" href={path}>
      {title}
    </a>
  ));
  return (
    <li>
      <Notice
        tone={tone}
        icon={icon}
        title={<Hostile text={problem.detail} />}
        {...(actions.length > 0 && { actions })}
      >
        <Extent problem={problem} />
      </Notice>
    </li>
  );
}

/** Shows since when a problem of the relay exists, and how many tasks it affects. */
function Extent({ problem: { since, tasks } }: { readonly problem: PresentProblem }) {
  if (since === null && tasks === null) return null;
  return (
    <p>
      {since === null ? null : (
        <>
          Since <Time at={since * 1000} />
        </>
      )}
      {since === null || tasks === null ? null : " · "}
      {tasks === null ? null : tasksText(tasks)}
    </p>
  );
}

function tasksText({ count, is_capped: isCapped }: NonNullable<PresentProblem["tasks"]>): string {
  return isCapped ? `${countText(count)} or more tasks` : countOf(count, "task");
}

/** A link to a page that helps to end a problem of the relay. */
interface Remedy {
  readonly title: string;
  readonly path: string;
}

/**
 * Returns links to pages that show the cause of a problem of the relay or help to end the problem, the most useful one
 * first.
 */
export function remediesOf({ kind, subject }: PresentProblem): readonly Remedy[] {
  const text = (name: string) => encodeURIComponent(String(subject[name] ?? ""));
  switch (kind) {
    case "host_failing":
      return [
        { title: "Why", path: `/hosts/${text("host")}` },
        { title: "Its failed callbacks", path: `/tasks?callback=failed&host=${text("host")}` },
      ];
    case "host_paused":
      return [
        { title: "The host", path: `/hosts/${text("host")}` },
        { title: "Tasks that wait", path: `/tasks?callback=paused&host=${text("host")}` },
      ];
    case "key_refused":
      return [
        { title: "Connections", path: "/providers" },
        { title: "Its tasks", path: `/tasks?provider=${text("connection")}` },
      ];
    case "queue_waits":
      return [
        { title: "Places", path: "/providers" },
        { title: "Tasks that wait", path: "/tasks?submission=queued" },
      ];
    case "funds_refused":
      return [{ title: "Connections", path: "/providers" }];
    case "submit_unknown":
      return [
        { title: "The oldest", path: `/tasks/${text("task_id")}` },
        { title: "All with this state", path: "/tasks?submission=unknown" },
      ];
    case "refund_delayed":
    case "deadline_near":
      return [{ title: "The oldest", path: `/tasks/${text("task_id")}` }];
    default:
      return [];
  }
}

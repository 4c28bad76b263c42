import { registerTask } from "../../api/tasks/register-task.ts";
import { seeOther } from "../http/html-answer.ts";
import { formAction } from "../http/page.ts";
import { Code } from "../parts/code.tsx";
import { WITH_KEY } from "../../lib/curl.ts";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { Panel } from "../parts/page-head.tsx";

interface FirstTaskProps {
  readonly origin: string;
  /** True when the simulated provider is switched on (`SANDBOX`). */
  readonly isSandboxOn: boolean;
}

/** Instructions on the overview of a relay without tasks: how to register the first task. */
export function FirstTask({ origin, isSandboxOn }: FirstTaskProps) {
  const steps = [
    {
      title: "Register a task before you submit it upstream",
      text: `export KEY=… ID=$(uuidgen)\ncurl -fsS ${origin}/v1/tasks ${WITH_KEY} \\\n  -d '{"id": "'$ID'", "model": "seedance-1-pro", "callback_url": "https://client.example.com/hook"}'`,
    },
    {
      title: "Report its result",
      text: `curl -fsS ${origin}/v1/events ${WITH_KEY} \\\n  -d '{"id": "'$ID'", "status": "completed", "output": {"urls": ["https://cdn.example.com/video.mp4"]}}'`,
    },
    {
      title: "Read it, and what became of its callback",
      text: `curl -fsS ${origin}/v1/tasks/$ID ${WITH_KEY}`,
    },
  ];
  return (
    <div class="first-task">
      <h2>Your first task</h2>
      <p class="muted">
        No task has been counted yet, which takes up to 10 minutes. These commands make one, with an
        operator key; the field above finds it by its id at once.
      </p>
      <ol>
        {steps.map(({ title, text }) => (
          <li>
            <h3>{title}</h3>
            <Code text={text} what={title} />
          </li>
        ))}
      </ol>
      <FirstSteps isSandboxOn={isSandboxOn} />
    </div>
  );
}

function FirstSteps({ isSandboxOn }: Pick<FirstTaskProps, "isSandboxOn">) {
  return (
    <div class="buttons">
      {isSandboxOn ? (
        <form method="post" action="/sandbox">
          <button type="submit" class="button button-main">
            Run a sandbox task
          </button>
        </form>
      ) : null}
      <a class="button" href="/submit">
        <Icon name="offer" />
        Playground
      </a>
      <a class="button" href="/tasks">
        <Icon name="tasks" />
        Tasks
      </a>
      <a class="button button-plain" href="/docs#callbacks">
        How callbacks arrive
      </a>
    </div>
  );
}

/** Registers a task of the simulated provider, which completes by itself, and redirects to the task's page. */
export const runSandboxTask = formAction("runSandboxTask", "/sandbox", "operate", async (visit) => {
  const id = crypto.randomUUID();
  const body = { id, provider: "sandbox", model: "sandbox/ok" };
  await registerTask.perform({ params: {}, body }, visit.viewer, visit);
  return seeOther(`/tasks/${id}`);
});

/** Text that is shown instead of totals and charts until the tasks were counted for the first time. */
export function NotCounted() {
  return (
    <Panel title="Numbers">
      <p class="muted">No task has been counted yet, which takes up to 10 minutes.</p>
    </Panel>
  );
}

const BINDING = '[[d1_databases]]\nbinding = "INDEX_DB"';

/** Message that is shown instead of lists and numbers when the relay has no index. */
export function NoIndex() {
  return (
    <Empty icon="search" title="No index is bound">
      <p>
        Tasks are registered, sent and read without it, and every task can be opened by its id in
        the field above. Lists, hosts and numbers need a D1 database, which these lines of{" "}
        <code>wrangler.toml</code> bind; the next deployment makes it.
      </p>
      <Code text={BINDING} what="the lines of wrangler.toml" />
    </Empty>
  );
}

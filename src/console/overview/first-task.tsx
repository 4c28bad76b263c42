import { WITH_KEY } from "../parts/curl.ts";
import { Code } from "../parts/code.tsx";
import { Icon } from "../parts/icon.tsx";

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
        No task has been counted yet: the cron trigger counts every 10 minutes. These commands make
        one, with an operator key; the field above finds it by its id at once.
      </p>
      <ol>
        {steps.map(({ title, text }) => (
          <li>
            <h3>{title}</h3>
            <Code text={text} what={title} />
          </li>
        ))}
      </ol>
      <div class="buttons">
        {isSandboxOn ? (
          <form method="post" action="/sandbox">
            <button type="submit" class="button button-main">
              Run a sandbox task
            </button>
          </form>
        ) : null}
        <a class="button" href="/tasks">
          <Icon name="tasks" />
          Tasks
        </a>
        <a class="button button-plain" href="/docs#callbacks">
          How callbacks arrive
        </a>
      </div>
    </div>
  );
}

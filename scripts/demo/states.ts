import type { RelayClient } from "./relay-client.ts";

/** Numbers of tasks by status, of callbacks by status, and of their attempts by outcome. */
export interface States {
  readonly tasks: Counts;
  readonly callbacks: Counts;
  readonly attempts: Counts;
}

type Counts = Readonly<Record<string, number>>;

interface Task {
  readonly status: string;
  readonly callback: {
    readonly status: string;
    readonly attempts: readonly { readonly outcome?: string }[];
  } | null;
}

/** Reads tasks, and counts their states. */
export async function statesOf(relay: RelayClient, ids: readonly string[]): Promise<States> {
  const read = async (id: string): Promise<Task> => JSON.parse(await relay.text(`/v1/tasks/${id}`));
  const tasks = await Promise.all(ids.map(read));
  const callbacks = tasks.flatMap(({ callback }) => callback ?? []);
  const attempts = callbacks.flatMap((callback) => callback.attempts);
  return {
    tasks: countsOf(tasks.map(({ status }) => status)),
    callbacks: countsOf(callbacks.map(({ status }) => status)),
    attempts: countsOf(attempts.flatMap(({ outcome }) => outcome ?? [])),
  };
}

function countsOf(names: readonly string[]): Counts {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";

interface Event {
  readonly id: string;
  readonly callback_url: string;
}

interface Bindings {
  readonly CALLBACKS: Workflow<Event>;
}

const STEP = {
  retries: { limit: 2, delay: "3 minutes", backoff: "constant" },
  timeout: "10 seconds",
} as const;

/** Workflow with one step, which sends one callback with retries. */
export class CallbackWorkflow extends WorkflowEntrypoint<Bindings, Event> {
  override async run({ payload }: WorkflowEvent<Event>, step: WorkflowStep): Promise<void> {
    await step.do("callback", STEP, async () => {
      const response = await fetch(payload.callback_url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(payload),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`answered with ${response.status}`);
      return response.status;
    });
  }
}

/** Worker that starts a workflow for the task which a POST reports. */
export default {
  async fetch(request: Request, { CALLBACKS }: Bindings): Promise<Response> {
    if (request.method !== "POST") return new Response();
    const event = await request.json<Event>();
    const { id } = await CALLBACKS.create({ id: event.id, params: event });
    return Response.json({ id }, { status: 202 });
  },
};

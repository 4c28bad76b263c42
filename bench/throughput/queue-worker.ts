interface Event {
  readonly id: string;
  readonly callback_url: string;
}

interface Bindings {
  readonly CALLBACKS: Queue<Event>;
}

const RETRY_DELAY_S = 180;

/** Worker that puts the task which a POST reports into a queue, whose consumer sends the callbacks. */
export default {
  async fetch(request: Request, { CALLBACKS }: Bindings): Promise<Response> {
    if (request.method !== "POST") return new Response();
    const event = await request.json<Event>();
    await CALLBACKS.send(event);
    return Response.json({ id: event.id }, { status: 202 });
  },

  async queue({ messages }: MessageBatch<Event>): Promise<void> {
    await Promise.all(messages.map(send));
  },
};

async function send(message: Message<Event>): Promise<void> {
  const response = await fetch(message.body.callback_url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(message.body),
  });
  await response.body?.cancel();
  if (response.ok) message.ack();
  else message.retry({ delaySeconds: RETRY_DELAY_S });
}

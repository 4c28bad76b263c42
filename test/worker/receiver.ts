import { vi } from "vitest";

/** A request that the receiver of callbacks got. */
export interface Received {
  readonly url: string;
  readonly method: string;
  readonly redirect: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Answer = (signal: AbortSignal) => Response | Promise<Response>;

export function status(code: number, body: string | null = null): Answer {
  return () => new Response(body, { status: code });
}

/** Never answers; fails when the sender aborts. */
export const never: Answer = (signal) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")));
  });

export const refused: Answer = () => Promise.reject(new Error("connection refused"));

/** Replaces the network by one receiver that gives these answers in turn and repeats the last. */
export function aReceiver(...answers: readonly Answer[]): Received[] {
  const received: Received[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    received.push({
      url: request.url,
      method: request.method,
      redirect: init?.redirect,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
    });
    const answer = answers[received.length - 1] ?? answers.at(-1) ?? status(200);
    return answer(init?.signal ?? request.signal);
  });
  return received;
}

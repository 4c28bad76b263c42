import { intercept, type Sent } from "./outside.ts";

export type Answer = (signal: AbortSignal) => Response | Promise<Response>;

export function status(code: number, body: string | null = null): Answer {
  return () => new Response(body, { status: code });
}

/** Answer that never comes; it fails when the sender aborts. */
export const never: Answer = (signal) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")));
  });

export const refused: Answer = () => Promise.reject(new Error("connection refused"));

/** Replaces the network by one receiver that gives these answers in turn and repeats the last. */
export function aReceiver(...answers: readonly Answer[]): readonly Sent[] {
  const received = intercept((_, signal) => {
    const answer = answers[received.length - 1] ?? answers.at(-1) ?? status(200);
    return answer(signal);
  });
  return received;
}

/** Returns one of the received requests. @throws when it did not arrive. */
export function requestAt(received: readonly Sent[], index: number): Sent {
  const request = received[index];
  if (request === undefined) throw new Error(`request ${index} did not arrive`);
  return request;
}

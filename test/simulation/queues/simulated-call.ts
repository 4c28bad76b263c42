import type { CallEnd, SendingCall } from "../../../src/objects/call/call-plan.ts";
import type { Simulated } from "./outside.ts";

interface Context {
  readonly runtime: Simulated;
  readonly signal: AbortSignal;
}

export const NOT_SENT: CallEnd = { outcome: { kind: "not_sent" }, hasFiles: false };

/** Takes the place of `makeCall` (objects/call): sends the call to the simulated upstream. */
export async function makeCall(sending: SendingCall, context: Context): Promise<CallEnd> {
  const { call, start } = sending;
  const { party, outside } = context.runtime;
  const { taskId, submissionId } = call;
  const place = start.place ?? { connection: call.connection, attempt: 1 };
  const outcome = await outside.submit(party, { taskId, submissionId, ...place }, context.signal);
  return { outcome, hasFiles: false };
}

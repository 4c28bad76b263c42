import type { CallRefusalReply } from "../../core/events/call-refusal.ts";
import type { CallRefusedEvent, RefusedOutcome } from "../../core/events/event.ts";
import { SECOND_MS } from "../../core/time.ts";
import { answerWithin } from "../../lib/timeout.ts";
import { objectNamed } from "../placed-object.ts";
import { type PlaceBindings, refusePlace } from "../queue/place-request.ts";
import type { GrantedPlace, PlaceOrder } from "../queue/queue-row.ts";

/** Time limit in milliseconds of a call to the object of a task. */
export const TASK_TIMEOUT_MS = 10 * SECOND_MS;

interface RefusedTask extends Rpc.DurableObjectBranded {
  refuseCall: (event: CallRefusedEvent) => CallRefusalReply;
}

/** The bindings by which the sender of a call reports a refusal. */
interface ReportBindings extends PlaceBindings {
  readonly TASKS: DurableObjectNamespace<RefusedTask>;
}

/** What has become of the report that an attempt was refused. */
interface ReportedRefusal {
  /** Order of the task. Null when the task could not be reached. */
  readonly reply: CallRefusalReply | null;
  /** False when the queue could not be reached. */
  readonly isPlaceFree: boolean;
}

/** Tells the task, and then the queue, that the upstream has refused an attempt of a submission. */
export async function reportRefusal(
  env: ReportBindings,
  { taskId, submissionId }: Pick<PlaceOrder, "taskId" | "submissionId">,
  place: GrantedPlace,
  outcome: RefusedOutcome,
): Promise<ReportedRefusal> {
  const { statusCode, refusal } = outcome;
  const event = { type: "call_refused", submissionId, ...place, statusCode, refusal } as const;
  const report = async (): Promise<CallRefusalReply> =>
    await objectNamed(env.TASKS, taskId, env).refuseCall(event);
  const reply = await answerWithin(
    TASK_TIMEOUT_MS,
    { event: "call.unreached", task_id: taskId },
    report,
  );
  const isPlaceFree = await refusePlace(env, submissionId, place, outcome);
  return { reply, isPlaceFree };
}

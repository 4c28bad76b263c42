import type { TaskEvent } from "../../src/core/events/event.ts";
import type { Step } from "../../src/core/step.ts";
import * as build from "./builders.ts";
import * as priced from "./credit-builders.ts";
import { ASKED_AFTER_ALL, told, UNANSWERED } from "./upstream-builders.ts";

/** What comes of a step. @param isUp whether whoever is asked answers. */
export function performed(step: Step, isUp: boolean): TaskEvent {
  switch (step.kind) {
    case "charge":
      return priced.aChargeEnd(isUp ? priced.CHARGED : { kind: "unknown" }, step.charge.chargeId);
    case "refund":
      return priced.aRefundEnd(isUp);
    case "publish": {
      const { version } = step.row;
      return { type: "publish_ended", version, isPublished: isUp };
    }
    case "notify": {
      const { kind, version } = step.notice;
      return { type: "notice_ended", kind, version, isTaken: isUp };
    }
    case "poll": {
      const { job, plannedAt } = step.poll;
      const answer = isUp ? told(build.aCompletion()) : UNANSWERED;
      return { type: "poll_ended", job, plannedAt, askedAt: ASKED_AFTER_ALL, answer };
    }
    case "deadline":
      return { type: "deadline" };
    case "start_attempt":
      return { type: "attempt_started" };
    case "send": {
      const { number } = step.delivery;
      return build.anEndAs(number, number % 4 === 0 ? "delivered" : "timeout");
    }
    case "expire":
      return { type: "erase" };
  }
}

import type { failuresOf, HostView } from "../../api/search/host-views.ts";
import { SECOND_MS } from "../../core/time.ts";
import { countOf, countText, utcText } from "../parts/format.ts";
import { likelyCauseOf } from "./host-causes.ts";

/**
 * Returns a report on the failing callbacks to a host, to be posted in a chat.
 * @param link address of the host's page.
 */
export function hostIncident(
  { host, failing, failures, last_delivered_at: deliveredAt }: HostFacts,
  link: string,
): string {
  const kinds = failures.outcomes.map((kind) => {
    const name = [kind.outcome ?? "failed", kind.status_code].filter(Boolean).join(" ");
    return `${name}: ${countOf(kind.tasks, "callback")}. ${likelyCauseOf(kind).text}`;
  });
  const accounts = failures.accounts.map(
    ({ account, tasks }) => `${account ?? "without account"} ${countText(tasks)}`,
  );
  return [
    failing === null
      ? `Host ${host}: does not fail at present`
      : `Host ${host}: callbacks fail since ${utcText(failing.since * SECOND_MS)} UTC, ${countText(failing.failed)}${failing.is_capped ? " or more" : ""} failed, ${countText(failing.sending)} still being tried`,
    ...(deliveredAt === null ? [] : [`Last delivered ${utcText(deliveredAt * SECOND_MS)} UTC`]),
    ...kinds,
    ...(accounts.length === 0 ? [] : [`Accounts: ${accounts.join(", ")}`]),
    link,
  ].join("\n");
}

interface HostFacts extends Pick<HostView, "host" | "failing"> {
  readonly failures: ReturnType<typeof failuresOf>;
  /** Time of the last delivered callback to the host, in Unix seconds; null when no such callback is known. */
  readonly last_delivered_at: number | null;
}

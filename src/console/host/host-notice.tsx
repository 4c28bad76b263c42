import type { oneHostView } from "../../api/search/read-hosts.ts";
import { countOf, countText } from "../parts/format.ts";
import { hostIncident } from "../parts/incident.ts";
import { CopyButton } from "../parts/copy.tsx";
import { Notice } from "../parts/notice.tsx";
import { Ago, Time } from "../parts/shown-time.tsx";

type Host = Awaited<ReturnType<typeof oneHostView>>;

interface HostNoticeProps {
  readonly host: Host;
  /** Number of callbacks to the host that have failed and have not been delivered since. */
  readonly failed: number;
  /** Address of the host's page, which becomes part of the text for a chat. */
  readonly link: string;
  readonly now: number;
}

/** Shows whether the host fails at present. While it fails, offers a text to paste into a chat. */
export function HostNotice({ host, failed, link, now }: HostNoticeProps) {
  const { failing, last_delivered_at: deliveredAt, last_failed_at: failedAt } = host;
  const last =
    deliveredAt === null ? null : (
      <p>
        Last delivered <Ago at={deliveredAt * 1000} now={now} />.
      </p>
    );
  const isBack = deliveredAt !== null && deliveredAt > (failedAt ?? 0);
  if (failing === null || (isBack && failing.sending === 0)) {
    const left = countOf(failed, "failed callback");
    const [tone, icon, title] =
      failed === 0
        ? (["ok", "check", "The host does not fail at present."] as const)
        : isBack
          ? (["warn", "warn", `Callbacks arrive again. ${left} left to send again.`] as const)
          : (["warn", "warn", `${left}, and none delivered since.`] as const);
    return (
      <Notice tone={tone} icon={icon} title={title}>
        {last}
      </Notice>
    );
  }
  const count = countText(failing.failed) + (failing.is_capped ? " or more" : "");
  return (
    <Notice
      tone="bad"
      icon="cross"
      actions={<CopyButton text={hostIncident(host, link)} label="Copy for the incident" />}
      title={
        <>
          <strong>Callbacks fail: {failing.status_code ?? failing.outcome ?? "no answer"}</strong>{" "}
          since <Time at={failing.since * 1000} />. {count} failed, {countText(failing.sending)}{" "}
          still being tried.
        </>
      }
    >
      {last}
    </Notice>
  );
}

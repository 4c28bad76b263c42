import { etagOf } from "../../api/offers/offer-view.ts";
import { formOfOffer } from "../../config/offers.ts";
import type { KnownOffer } from "../../core/offers/offer-book.ts";
import { Code, indentedJson } from "../parts/code.tsx";
import { Panel } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { shortPrice } from "./offer-words.tsx";

interface HistoryProps {
  readonly name: string;
  /** The kept versions, newest first. */
  readonly versions: readonly KnownOffer[];
  /** Version in use; null when the offer is deleted. */
  readonly present: number | null;
  readonly mayRestore: boolean;
}

/** Section with the versions of an offer: when each was made, and by which key. */
export function HistoryPanel({ name, versions, present, mayRestore }: HistoryProps) {
  return (
    <Panel title="History" aside="Newest first, at most 100">
      <Table
        caption="Versions of the offer"
        columns={columns(name, present, mayRestore)}
        rows={versions}
        rowId={({ stored }) => `version-${stored.version}`}
      />
    </Panel>
  );
}

function columns(
  name: string,
  present: number | null,
  mayRestore: boolean,
): readonly Column<KnownOffer>[] {
  return [
    { title: "Version", cell: ({ stored }) => stored.version },
    {
      title: "Changed",
      cell: ({ stored }) => (
        <>
          <Time at={stored.changedAt} />
          {stored.changedBy === null ? null : <p class="muted small">by {stored.changedBy}</p>}
        </>
      ),
    },
    {
      title: "Price",
      cell: ({ offer }) => (offer === null ? "deleted" : <Version offer={offer} />),
    },
    {
      title: "State",
      cell: ({ stored }) => {
        if (stored.version === present) return "in use";
        if (!mayRestore || stored.content === null) return null;
        return <Restore name={name} version={stored.version} present={present} />;
      },
    },
  ];
}

function Version({ offer }: { readonly offer: NonNullable<KnownOffer["offer"]> }) {
  return (
    <details class="details">
      <summary>{shortPrice(offer.price)}</summary>
      <Code text={indentedJson(formOfOffer(offer))} what="this version" language="json" />
    </details>
  );
}

function Restore(props: {
  readonly name: string;
  readonly version: number;
  readonly present: number | null;
}) {
  const { name, version, present } = props;
  return (
    <form method="post" action={`/offers/${name}/restore`}>
      <input type="hidden" name="version" value={version} />
      <input type="hidden" name="if_match" value={present === null ? "" : etagOf(present)} />
      <button type="submit" class="button button-small" aria-label={`Restore version ${version}`}>
        Restore
      </button>
    </form>
  );
}

import * as z from "zod/mini";
import { Flag, readQuery } from "../../api/http/query.ts";
import type { ShownOffer } from "../../api/offers/offer-view.ts";
import { listOffers } from "../../api/offers/read-offers.ts";
import { html } from "../http/html-answer.ts";
import { viewerPage } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Empty } from "../parts/empty.tsx";
import { Notice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { mayEditOffers, NEW_OFFER } from "./offer-page.tsx";
import { audienceText, shortPrice, State } from "./offer-words.tsx";

const PAGE = 50;
const Query = z.object({
  cursor: z._default(z.string().check(z.maxLength(64)), ""),
  disabled: Flag,
  done: z.optional(z.string()),
});

/** The page that lists all offers of the relay, for operators. */
export const offersPage = viewerPage("offersPage", "/offers", "inspect", async (visit) => {
  const { url, viewer } = visit;
  const { cursor, disabled, done } = readQuery(Query, url);
  const query = { cursor, limit: String(PAGE), disabled: String(disabled) };
  const found = await listOffers.perform({ params: {}, query }, viewer, visit);
  // Only accounts get offers of the other kind, and they have no access to this page.
  const offers = found.kind === "all" ? found.offers : [];
  return html(
    <Layout title="Offers" frame={frameOf(visit)} section="offers">
      <PageHead
        title="Offers"
        sub="What accounts may submit, within which limits and at which price"
      >
        <ApiDialog origin={url.origin} paths={["/v1/offers"]} />
        <a class="button" href={disabled ? "/offers" : "/offers?disabled=true"}>
          {disabled ? "All offers" : "Only disabled"}
        </a>
        <a class="button" href="/submit">
          Playground
        </a>
        {mayEditOffers(visit) ? (
          <a class="button button-main" href={`/offers/${NEW_OFFER}`}>
            New offer
          </a>
        ) : null}
      </PageHead>
      <div class="stack-s">
        {done === "deleted" ? (
          <Notice tone="ok" icon="check" title="The offer is deleted. Its versions are kept." />
        ) : null}
        <Offers offers={offers} isFiltered={disabled} isFirst={cursor === ""} />
        <Pages next={found.next} isFirst={cursor === ""} isFiltered={disabled} />
      </div>
    </Layout>,
  );
});

interface OffersProps {
  readonly offers: readonly ShownOffer[];
  readonly isFiltered: boolean;
  readonly isFirst: boolean;
}

function Offers({ offers, isFiltered, isFirst }: OffersProps) {
  if (offers.length > 0) {
    return (
      <Table
        caption="Offers"
        columns={COLUMNS}
        rows={offers}
        rowId={({ name }) => `offer-${name}`}
      />
    );
  }
  if (isFiltered) return <Empty icon="check" title="No offer is disabled" />;
  return (
    <Empty icon="offer" title={isFirst ? "No offers yet" : "No further offers"}>
      <p>
        Accounts may submit only what is offered to them. Create an offer, or begin with those of
        the sandbox in the <a href="/submit">playground</a>.
      </p>
    </Empty>
  );
}

const COLUMNS: readonly Column<ShownOffer>[] = [
  {
    title: "Offer",
    cell: ({ name, offer }) => (
      <>
        <a href={`/offers/${name}`}>{name}</a>
        {offer?.title == null ? null : <p class="muted small">{offer.title}</p>}
      </>
    ),
  },
  { title: "For", cell: ({ offer }) => (offer === null ? "–" : audienceText(offer.audience)) },
  {
    title: "Upstream",
    cell: ({ offer }) => (offer === null ? "–" : `${offer.connection} ${offer.path ?? "*"}`),
  },
  { title: "Models", isSpare: true, cell: ({ offer }) => offer?.models.join(", ") ?? "–" },
  { title: "Price", cell: ({ offer }) => (offer === null ? "–" : shortPrice(offer.price)) },
  { title: "State", cell: State },
  {
    title: "Changed",
    isSpare: true,
    cell: ({ stored }) => (stored === null ? "in OFFERS" : <Time at={stored.changedAt} />),
  },
];

function Pages(props: {
  readonly next: string | null;
  readonly isFirst: boolean;
  readonly isFiltered: boolean;
}) {
  const { next, isFirst, isFiltered } = props;
  const filter = isFiltered ? "&disabled=true" : "";
  return (
    <p class="buttons">
      {isFirst ? null : (
        <a class="button" href={`/offers?cursor=${filter}`}>
          First page
        </a>
      )}
      {next === null ? null : (
        <a class="button" href={`/offers?cursor=${next}${filter}`}>
          Next {PAGE}
        </a>
      )}
    </p>
  );
}

import type { OwnOffer } from "../../api/offers/own-offers.ts";
import { html } from "../http/html-answer.ts";
import { viewerPage, type ViewerVisit } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { shownPrice } from "../offers/offer-words.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Code } from "../parts/code.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { mayOfferSandbox, OFFER_SANDBOX } from "./sandbox-offers.ts";
import { soldOffers, takesArguments } from "./sold-offers.ts";

/** The page that lists what the viewer can submit: an account its own offers, an operator all of them. */
export const submitListPage = viewerPage("submitListPage", "/submit", "read", async (visit) => {
  const isAccount = visit.viewer.kind === "account";
  const offers = await soldOffers(visit);
  const title = isAccount ? "What you can submit" : "Playground";
  return html(
    <Layout title={title} frame={frameOf(visit)} section={isAccount ? "submit" : "offers"}>
      <PageHead
        title={title}
        sub={
          isAccount
            ? "Each offer with its price. Its page submits a job, and follows it to the result."
            : "What customers can submit, with the form that they see. You submit without a charge."
        }
      >
        <ApiDialog origin={visit.url.origin} paths={["/v1/offers"]} />
      </PageHead>
      {offers.length === 0 ? (
        <NoOffers visit={visit} />
      ) : (
        <Table
          caption={title}
          columns={COLUMNS}
          rows={offers}
          rowId={({ name }) => `offer-${name}`}
        />
      )}
    </Layout>,
  );
});

const COLUMNS: readonly Column<OwnOffer>[] = [
  {
    title: "Offer",
    cell: ({ name, title, description }) => (
      <>
        <a href={`/submit/${name}`}>{title ?? name}</a>
        {description === null ? null : <p class="muted small">{description}</p>}
      </>
    ),
  },
  { title: "Price", cell: ({ price_text: text }) => shownPrice(text) },
  { title: "Models", cell: ({ models }) => models.join(", ") },
  {
    title: "How",
    isSpare: true,
    cell: (offer) =>
      takesArguments(offer) ? "by a form, or a program" : <code>POST {offer.path}</code>,
  },
];

function NoOffers({ visit }: { readonly visit: ViewerVisit }) {
  const { viewer, runtime } = visit;
  if (viewer.kind === "account") {
    return (
      <Empty icon="offer" title="Nothing is offered to you yet">
        <p>The operator of this relay decides what your account can submit, and at which price.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="offer" title="No offers yet">
      {mayOfferSandbox(visit) ? (
        <>
          <p>
            The sandbox simulates an upstream. Offer what it makes, to submit a first job here, and
            to let customers submit it.
          </p>
          <form method="post" action={OFFER_SANDBOX}>
            <button type="submit" class="button button-main">
              Offer the sandbox
            </button>
          </form>
        </>
      ) : (
        <p>Customers can submit nothing until there is an offer.</p>
      )}
      {runtime.config.connections.has("sandbox") ? null : (
        <Code text="npm start -- --var SANDBOX:true" what="the command that adds the sandbox" />
      )}
    </Empty>
  );
}

import type { TrialOutcome } from "../../api/offers/try-offer.ts";
import type { OfferReason } from "../../core/offers/offer-list.ts";
import { Chip } from "../parts/chip.tsx";
import { countText } from "../parts/format.ts";
import { Panel } from "../parts/page-head.tsx";
import type { OfferForm } from "./offer-fields.tsx";
import { Limits, shortPrice } from "./offer-words.tsx";
import { priceOf } from "../../config/price.ts";

/** Result of a trial: the offer as it would be stored, and what the submission would get. */
export interface Tried {
  readonly offer: OfferForm;
  readonly outcome: TrialOutcome;
}

/** Section with the result of a trial: which offer prices the submission, why this one, and how much it costs. */
export function TrialPanel({ tried: { offer, outcome } }: { readonly tried: Tried }) {
  const limits = Object.entries(offer.limits).map(([pointer, { optional, ...limit }]) => ({
    pointer,
    ...limit,
    isOptional: optional,
  }));
  return (
    <Panel title="Trial" aside="Nothing was stored or submitted">
      <dl class="fields" id="trial">
        {outcome.outcome === "offered" ? (
          <Offered outcome={outcome} tried={offer.name} />
        ) : (
          <Refused outcome={outcome} />
        )}
        <dt>Limits of this offer</dt>
        <dd>
          <Limits limits={limits} />
        </dd>
      </dl>
    </Panel>
  );
}

interface OfferedProps {
  readonly outcome: Extract<TrialOutcome, { readonly outcome: "offered" }>;
  /** Name of the offer that is tried. */
  readonly tried: string;
}

function Offered({
  outcome: { offer, reason, model, credits, price, final },
  tried,
}: OfferedProps) {
  return (
    <>
      <dt>Outcome</dt>
      <dd>
        <Chip tone="ok" icon="check" word="taken" />
      </dd>
      <dt>Offer that wins</dt>
      <dd>
        {offer === tried ? `${offer}, this one` : <a href={`/offers/${offer}`}>{offer}</a>},{" "}
        {REASONS[reason.kind]}
        {reason.kind === "tag" ? ` (${reason.tag})` : ""}
      </dd>
      <dt>Model</dt>
      <dd>{model}</dd>
      <dt>Price</dt>
      <dd>{shortPrice(price === null ? null : priceOf(price))}</dd>
      <dt>Charged at first</dt>
      <dd>{countText(credits)} credits</dd>
      {final === undefined ? null : (
        <>
          <dt>In the end</dt>
          <dd>{countText(final)} credits</dd>
        </>
      )}
    </>
  );
}

const REASONS: Readonly<Record<OfferReason["kind"], string>> = {
  account: "because it names the account",
  tag: "because it is for a tag of the account",
  general: "because it is for all, and none is for the account or its tags",
};

function Refused({
  outcome: { code, detail, issues = [] },
}: {
  readonly outcome: Extract<TrialOutcome, { readonly outcome: "refused" }>;
}) {
  return (
    <>
      <dt>Outcome</dt>
      <dd>
        <Chip tone="bad" icon="block" word="refused" /> <code>{code}</code>
      </dd>
      <dt>Why</dt>
      <dd>
        {detail}
        {issues.map(({ path, message }) => (
          <p>
            <code>{path}</code> {message}
          </p>
        ))}
      </dd>
    </>
  );
}

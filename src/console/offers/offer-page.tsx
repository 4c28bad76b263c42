import * as z from "zod/mini";
import { Problem } from "../../api/http/problem.ts";
import { readQuery } from "../../api/http/query.ts";
import { deleteOffer, putOffer, restoreOffer } from "../../api/offers/change-offer.ts";
import { etagOf, type ShownOffer } from "../../api/offers/offer-view.ts";
import { listOfferVersions, readOffer, unknownOffer } from "../../api/offers/read-offers.ts";
import { formOfOffer } from "../../config/offers.ts";
import type { KnownOffer } from "../../core/offers/offer-book.ts";
import { may } from "../../objects/task/caller.ts";
import { type FormFault, withFaultsIn, withoutFaults } from "../http/forms.ts";
import { html, seeOther } from "../http/html-answer.ts";
import { formAction, type FormVisit, viewerPage, type ViewerVisit } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Code, indentedJson } from "../parts/code.tsx";
import { DialogButton } from "../parts/dialog.tsx";
import { Field, FormIssue, TextField } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Confirmation } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";
import {
  JSON_FIELDS,
  OFFER_FIELDS,
  OfferFields,
  offerIn,
  trialIn,
  typedOffer,
} from "./offer-fields.tsx";
import { HistoryPanel } from "./history-panel.tsx";
import { State } from "./offer-words.tsx";
import { TrialPanel, type Tried } from "./trial-panel.tsx";

/** Stands in the path for an offer that does not exist yet. No offer has this name. */
export const NEW_OFFER = "_new";
const EDIT = "edit";
const DELETE = "delete";
const REFUSALS = [400, 409, 412];

const Query = z.object({ done: z.optional(z.string()) });
/** Text that confirms a change after its form was sent, by the value of the query parameter `done`. */
const DONE: Readonly<Record<string, string>> = {
  stored: "Stored. Within 60 seconds every submission is priced by it.",
  restored: "Restored. Within 60 seconds every submission is priced by it.",
};

type OfferVisit = ViewerVisit<{ readonly offer: string }>;
type OfferFormVisit = FormVisit<{ readonly offer: string }>;

/** The page on which operators edit one offer, try a submission against it, and restore earlier versions. */
export const offerPage = viewerPage("offerPage", "/offers/{offer}", "inspect", (visit) =>
  showOffer(visit, null),
);

/**
 * Returns the page of an offer.
 * @param sent what was typed into the form, with its faults. Null when the form shows the stored offer.
 */
async function showOffer(
  visit: OfferVisit,
  sent: FormFault | null,
  tried: Tried | null = null,
): Promise<Response> {
  const { params, url } = visit;
  const isNew = params.offer === NEW_OFFER;
  const known = isNew ? NOTHING_KNOWN : await knownOf(visit);
  const { shown } = known;
  const title = isNew ? "New offer" : params.offer;
  const isEdited = mayEditOffers(visit) && (isNew || shown !== null);
  return html(
    <Layout title={title} frame={frameOf(visit)} section="offers">
      <PageHead title={title} sub={<a href="/offers">All offers</a>}>
        {isNew ? null : (
          <ApiDialog
            origin={url.origin}
            paths={[`/v1/offers/${params.offer}`, `/v1/offers/${params.offer}/versions`]}
          />
        )}
        {shown === null ? null : <Actions name={params.offer} isEdited={isEdited} shown={shown} />}
      </PageHead>
      <div class="stack">
        <Notices visit={visit} shown={shown} />
        {tried === null ? null : <TrialPanel tried={tried} />}
        <div class="columns offer">
          {isEdited ? (
            <EditForm visit={visit} shown={shown} sent={sent} />
          ) : (
            <ReadOnly visit={visit} shown={shown} />
          )}
          <div class="stack">
            {isNew ? <FirstHints /> : null}
            <History visit={visit} known={known} />
          </div>
        </div>
      </div>
    </Layout>,
  );
}

/** An offer and its earlier versions, as they are stored. */
interface Known {
  /** The current version. Null when the offer was deleted. */
  readonly shown: ShownOffer | null;
  readonly versions: readonly KnownOffer[];
}

const NOTHING_KNOWN: Known = { shown: null, versions: [] };

/** Returns what is stored of the offer of the page. @throws Problem `not_found` when there was never such an offer. */
async function knownOf(visit: OfferVisit): Promise<Known> {
  const [shown, versions] = await Promise.all([presentOffer(visit), versionsOf(visit)]);
  if (shown === null && versions.length === 0) throw unknownOffer();
  return { shown, versions };
}

/** Confirms what was done before the page was opened, and says why the offer is disabled, if it is. */
function Notices({ visit, shown }: { readonly visit: OfferVisit } & Pick<Known, "shown">) {
  const { done = "" } = readQuery(Query, visit.url);
  return (
    <>
      <Confirmation done={done} texts={DONE} />
      {shown === null || shown.fault === null ? null : <State fault={shown.fault} />}
    </>
  );
}

function History({ visit, known }: { readonly visit: OfferVisit; readonly known: Known }) {
  const { shown, versions } = known;
  if (versions.length === 0) return null;
  return (
    <HistoryPanel
      name={visit.params.offer}
      versions={versions}
      present={shown?.stored?.version ?? null}
      mayRestore={mayEditOffers(visit)}
    />
  );
}

/** Reads the offer of the page. @returns null when there is none with this name, e.g. because it was deleted. */
async function presentOffer(visit: OfferVisit): Promise<ShownOffer | null> {
  const given = { params: { name: visit.params.offer } };
  const found = await readOffer.perform(given, visit.viewer, visit).catch(nullIfUnknown);
  return found?.kind === "all" ? found.offer : null;
}

async function versionsOf(visit: OfferVisit): Promise<readonly KnownOffer[]> {
  const given = { params: { name: visit.params.offer } };
  const versions = await listOfferVersions.perform(given, visit.viewer, visit).catch(nullIfUnknown);
  return versions ?? [];
}

function nullIfUnknown(error: unknown): null {
  if (error instanceof Problem && error.code === "not_found") return null;
  throw error;
}

/** Tells whether the viewer may change offers, and whether they are not in the configuration. */
export function mayEditOffers({ viewer, runtime }: ViewerVisit<unknown>): boolean {
  return may(viewer, "administer") && runtime.config.offers === null;
}

interface ActionsProps {
  readonly name: string;
  readonly isEdited: boolean;
  readonly shown: ShownOffer;
}

function Actions({ name, isEdited, shown: { stored, fault } }: ActionsProps) {
  return (
    <>
      {fault === null ? (
        <a class="button" href={`/submit/${name}`}>
          Playground
        </a>
      ) : null}
      {isEdited && stored !== null ? (
        <>
          <DialogButton opens={DELETE} class="button button-bad">
            Delete
          </DialogButton>
          <FormDialog
            id={DELETE}
            title={`Delete ${name}`}
            action={`/offers/${name}/delete`}
            send="Delete"
            isFinal
          >
            <p>
              Customers can no longer submit by it. Tasks that it has priced keep their price, and
              its versions stay here, from which it can be restored.
            </p>
            <input type="hidden" name="if_match" value={etagOf(stored.version)} />
          </FormDialog>
        </>
      ) : null}
    </>
  );
}

function FirstHints() {
  return (
    <p class="muted">
      Try the offer before you store it: a trial says which offer wins, why, and what it costs. It
      stores and submits nothing.
    </p>
  );
}

interface EditFormProps {
  readonly visit: OfferVisit;
  readonly shown: ShownOffer | null;
  readonly sent: FormFault | null;
}

/** The form of an offer. One of its buttons stores the offer, the other tries a submission by it. */
function EditForm({ visit, shown, sent }: EditFormProps) {
  const { offer: name } = visit.params;
  const written =
    shown?.offer == null ? new URLSearchParams() : typedOffer(formOfOffer(shown.offer));
  const state = sent ?? withoutFaults(EDIT, written);
  const version = shown?.stored?.version;
  const etag = state.typed.get("if_match") ?? (version === undefined ? "" : etagOf(version));
  return (
    <form method="post" action={`/offers/${name}`} class="stack-s form">
      <OfferFields state={state} isNew={name === NEW_OFFER} config={visit.runtime.config} />
      <input type="hidden" name="if_match" value={etag} />
      <fieldset class="stack-s group">
        <legend>Try a submission</legend>
        <Field
          label="As account"
          name="try/account"
          fault={state}
          maxlength={64}
          hint="Empty: an account without an offer of its own."
        />
        <Field label="At path" name="try/path" fault={state} hint="For an offer without a path." />
        <TextField
          label="Body of the call"
          name="try/body"
          rows={3}
          fault={state}
          hint="As the upstream gets it, in JSON."
        />
      </fieldset>
      <FormIssue fault={state} />
      <p class="buttons">
        <button type="submit" class="button" formaction={`/offers/${name}/try`}>
          Try
        </button>
        <button type="submit" class="button button-main">
          Store
        </button>
      </p>
    </form>
  );
}

function ReadOnly({ visit, shown }: Omit<EditFormProps, "sent">) {
  const isConfigured = visit.runtime.config.offers !== null;
  return (
    <Panel title={shown === null ? "Deleted" : "Offer"}>
      <div class="stack-s">
        {isConfigured ? (
          <p class="muted">
            The variable <code>OFFERS</code> has all offers of this relay.{" "}
            <code>npm run setup -- --offers FILE</code> moves them here.
          </p>
        ) : null}
        {shown === null ? (
          <p class="muted">This offer was deleted. Each of its versions can be restored.</p>
        ) : null}
        {shown?.offer == null ? null : (
          <Code text={indentedJson(formOfOffer(shown.offer))} what="the offer" language="json" />
        )}
      </div>
    </Panel>
  );
}

/** Stores an offer, unless somebody else has changed it since the form was shown. */
export const storeOffer = formAction("storeOffer", "/offers/{offer}", "administer", (visit) =>
  withOfferFaults(visit, async () => {
    const name = nameIn(visit);
    const given = { params: { name }, query: conditionIn(visit.form), body: offerIn(visit.form) };
    await putOffer.perform(given, visit.viewer, visit);
    return seeOther(`/offers/${name}?done=stored`);
  }),
);

/** Tries a submission by the offer as it was typed, and stores nothing. */
export const tryOfferForm = formAction(
  "tryOfferForm",
  "/offers/{offer}/try",
  "administer",
  (visit) =>
    withOfferFaults(visit, async () => {
      const { form, viewer } = visit;
      const given = {
        params: { name: nameIn(visit) },
        query: { ...conditionIn(form), dry_run: "true" },
        body: { ...offerIn(form), try: trialIn(form) },
      };
      const result = await putOffer.perform(given, viewer, visit);
      if (result.kind !== "tried" || result.view.try === undefined) {
        throw new Error("a trial has no outcome");
      }
      const tried = { offer: result.view.offer, outcome: result.view.try };
      return showOffer(visit, withoutFaults(EDIT, form), tried);
    }),
);

function withOfferFaults(visit: OfferFormVisit, act: () => Promise<Response>): Promise<Response> {
  return withFaultsIn(
    {
      id: EDIT,
      typed: visit.form,
      fields: visit.params.offer === NEW_OFFER ? ["name", ...OFFER_FIELDS] : OFFER_FIELDS,
      placed: JSON_FIELDS,
      statuses: REFUSALS,
    },
    act,
    (fault) => showOffer(visit, fault),
  );
}

/** Returns the name of the offer that a form concerns. */
function nameIn({ params, form }: OfferFormVisit): string {
  return params.offer === NEW_OFFER ? (form.get("name") ?? "").trim() : params.offer;
}

/** Returns the condition of a change: the offer is as the form has shown it, or does not exist. */
function conditionIn(form: URLSearchParams) {
  const etag = form.get("if_match") ?? "";
  return etag === "" ? { if_none_match: "*" } : { if_match: etag };
}

/** Deletes an offer, unless somebody else has changed it since the form was shown. */
export const deleteOfferForm = formAction(
  "deleteOfferForm",
  "/offers/{offer}/delete",
  "administer",
  async (visit) => {
    const given = { params: { name: visit.params.offer }, query: conditionIn(visit.form) };
    await deleteOffer.perform(given, visit.viewer, visit);
    return seeOther("/offers?done=deleted");
  },
);

/** Makes an earlier version of an offer the present one, unless somebody else has changed it in the meantime. */
export const restoreOfferForm = formAction(
  "restoreOfferForm",
  "/offers/{offer}/restore",
  "administer",
  async (visit) => {
    const { form, params, viewer } = visit;
    const version = form.get("version") ?? "";
    const given = { params: { name: params.offer, version }, query: conditionIn(form) };
    await restoreOffer.perform(given, viewer, visit);
    return seeOther(`/offers/${params.offer}?done=restored`);
  },
);

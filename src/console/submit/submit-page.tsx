import * as z from "zod/mini";
import { TaskId } from "../../api/http/fields.ts";
import { readQuery } from "../../api/http/query.ts";
import type { OwnOffer } from "../../api/offers/own-offers.ts";
import { OfferedJob, submitOffer } from "../../api/submit/submit-offer.ts";
import type { Submitted } from "../../api/submit/submitted.ts";
import { Unread } from "../../api/operation.ts";
import { may } from "../../objects/task/caller.ts";
import { type FormFault, withFaultsIn, withoutFaults } from "../http/forms.ts";
import { html, showingOutputs } from "../http/html-answer.ts";
import { formAction, type FormVisit, viewerPage, type ViewerVisit } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Code } from "../parts/code.tsx";
import { FormIssue } from "../parts/field.tsx";
import { HostileCode } from "../parts/hostile.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";
import { shownPrice } from "../offers/offer-words.tsx";
import { nextStepOf } from "../task/next-step.ts";
import { ResultPanel } from "../task/result-panel.tsx";
import { readShownTask, type ShownTask } from "../task/task-data.ts";
import { TaskState } from "../task/task-state.tsx";
import { ArgumentFields, argumentNames, typedArguments } from "./argument-fields.tsx";
import { soldOffer, takesArguments } from "./sold-offers.ts";

/** Id of the form that submits a job. */
const SUBMIT = "submit";
/**
 * Field with the `Idempotency-Key` of the submission. No argument has this name, because the name of its field is a JSON
 * Pointer without its first character.
 */
const ORDER = "/order";
/** Statuses of refusals after which the form is shown again: of the relay, and of an upstream that does not answer. */
const REFUSALS = [400, 402, 403, 409, 413, 422, 429, 502, 503, 504];

const Query = z.object({ task: z.optional(TaskId) });

type OfferVisit = ViewerVisit<{ readonly offer: string }>;

/** State of the page: the typed values, and what became of the submission. */
interface PlaygroundState {
  /** Typed values, with what is wrong with them. Null for a form that was not sent. */
  readonly typed: FormFault | null;
  /** `Idempotency-Key` of the next submission: after a refusal the same again, so that nothing is submitted twice. */
  readonly order: string;
  readonly shown?: ShownTask;
  /** Answer of an upstream that has refused the job. */
  readonly refusal?: { readonly status: number; readonly text: string };
}

/**
 * The page on which a job is submitted by an offer. With the query parameter `task` it shows a task, whose changes an
 * open page reads there.
 */
export const submitPage = viewerPage("submitPage", "/submit/{offer}", "read", async (visit) => {
  const { task: id } = readQuery(Query, visit.url);
  const state = { typed: null, order: crypto.randomUUID() };
  if (id === undefined) return await showPlayground(visit, state);
  return await showPlayground(visit, { ...state, shown: await shownTask(visit, id) });
});

function shownTask(visit: OfferVisit, id: string): Promise<ShownTask> {
  return readShownTask({ ...visit, params: { id } });
}

async function showPlayground(visit: OfferVisit, state: PlaygroundState): Promise<Response> {
  const { viewer, url, runtime } = visit;
  const isAccount = viewer.kind === "account";
  const offer = await soldOffer(visit.params.offer, visit);
  return html(
    <Layout
      title={offer.title ?? offer.name}
      frame={frameOf(visit)}
      section={isAccount ? "submit" : "offers"}
      isLive={state.shown !== undefined}
    >
      <PageHead
        title={offer.title ?? offer.name}
        sub={
          <>
            {offer.description === null ? null : <>{offer.description} </>}
            <a href="/submit">{isAccount ? "All that you can submit" : "All offers"}</a>
          </>
        }
      >
        <ApiDialog origin={url.origin} paths={[`/v1/offers/${offer.name}`]} />
      </PageHead>
      <div class="stack">
        <div class="columns playground">
          <Order offer={offer} state={state} visit={visit} />
          <Outcome state={state} visit={visit} />
        </div>
        {offer.example === null ? null : (
          <Panel title="From a program">
            <Code text={offer.example} what="the command" />
          </Panel>
        )}
      </div>
    </Layout>,
    200,
    showingOutputs(runtime.config.outputsOrigin),
  );
}

interface OrderProps {
  readonly offer: OwnOffer;
  readonly state: PlaygroundState;
  readonly visit: OfferVisit;
}

/** The price of the offer, and its form. */
function Order({ offer, state, visit: { viewer } }: OrderProps) {
  const isForm = takesArguments(offer);
  return (
    <Panel title={isForm ? "Your order" : "Your call"}>
      <div class="stack-s">
        <p>{viewer.kind === "operator" ? forOperator(offer) : shownPrice(offer.price_text)}</p>
        {isForm && may(viewer, "submit") ? <OrderForm offer={offer} {...state} /> : null}
        {isForm && !may(viewer, "submit") ? (
          <p class="muted">Your key only reads. Submitting needs a key with the role full.</p>
        ) : null}
        {isForm ? null : (
          <p class="muted">
            You send the call of the upstream itself, with its SDK or any HTTP client, to{" "}
            <code>{offer.path}</code>.
          </p>
        )}
      </div>
    </Panel>
  );
}

function forOperator({ price_text: price }: OwnOffer): string {
  return `Customers pay: ${shownPrice(price)} You submit as the operator, without a charge.`;
}

function OrderForm({
  offer: { name, body_schema: schema },
  typed,
  order,
}: PlaygroundState & { readonly offer: OwnOffer }) {
  return (
    <form method="post" action={`/submit/${name}`} class="stack-s form">
      <ArgumentFields schema={schema} fault={typed} />
      <input type="hidden" name={ORDER} value={order} />
      <FormIssue fault={typed} />
      <p class="buttons">
        <button type="submit" class="button button-main">
          Submit
        </button>
      </p>
    </form>
  );
}

interface OutcomeProps {
  readonly state: PlaygroundState;
  readonly visit: OfferVisit;
}

/** The task of the submission, which is refreshed as it changes, or why there is none. */
function Outcome({ state: { shown, refusal }, visit }: OutcomeProps) {
  if (refusal !== undefined) {
    return (
      <Panel title="Refused by the upstream" aside={`HTTP status ${refusal.status}`}>
        <div class="stack-s">
          <p>There is no task, and nothing was charged.</p>
          <HostileCode text={refusal.text} what="the answer" />
        </div>
      </Panel>
    );
  }
  if (shown === undefined) {
    return <p class="muted">What you submit is followed here, up to its result.</p>;
  }
  const { task, facts, state } = shown;
  const now = Date.now();
  const next = nextStepOf(task, facts, now);
  return (
    <div
      id="life"
      class="task-page life"
      data-refresh={String(next.refreshS)}
      data-refresh-url={`/submit/${visit.params.offer}?task=${task.id}`}
      data-version={state}
    >
      <TaskState task={task} next={next} arePlacesShown={may(visit.viewer, "inspect")} now={now} />
      <ResultPanel
        task={task}
        links={null}
        outputsOrigin={visit.runtime.config.outputsOrigin}
        now={now}
      />
      <p>
        <a href={`/tasks/${task.id}`}>All about this task</a>
      </p>
    </div>
  );
}

/** Submits a job by an offer, and shows its task beside the form, which keeps what was typed. */
export const submitByForm = formAction(
  "submitByForm",
  "/submit/{offer}",
  "submit",
  async (visit) => {
    const { form, params } = visit;
    const { body_schema: schema } = await soldOffer(params.offer, visit);
    const refusable = {
      id: SUBMIT,
      typed: form,
      fields: argumentNames(schema),
      statuses: REFUSALS,
    };
    return withFaultsIn(
      refusable,
      async () => {
        const submitted = await submit(visit, typedArguments(form, schema));
        const state = { typed: withoutFaults(SUBMIT, form), order: crypto.randomUUID() };
        if (submitted.kind === "refused") {
          const refusal = await refusalOf(submitted.answer);
          return showPlayground(visit, { ...state, refusal });
        }
        return showPlayground(visit, {
          ...state,
          shown: await shownTask(visit, submitted.taskId),
        });
      },
      (fault) => showPlayground(visit, { typed: fault, order: form.get(ORDER) ?? "" }),
    );
  },
  { rateLimit: "LIMIT_SUBMITS" },
);

async function submit(visit: FormVisit<{ readonly offer: string }>, json: object) {
  const { form, params, viewer, counted } = visit;
  const given = {
    params,
    body: new Unread(() => new OfferedJob(new Headers(), { json })),
    idempotencyKey: form.get(ORDER),
  };
  return await submitOffer.perform(given, viewer, { ...visit, counted });
}

async function refusalOf({ status, body }: Submitted) {
  return { status, text: await new Response(body).text() };
}

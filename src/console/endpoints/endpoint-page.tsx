import * as z from "zod/mini";
import { DAY_SCHEDULE_MS } from "../../api/callbacks/callback-schedule.ts";
import { testAsAccount, type Tested } from "../../api/callbacks/test-callback.ts";
import type { EndpointSecrets } from "../../api/endpoints/endpoint-work.ts";
import { pausedHosts } from "../../api/hosts/paused-hosts.ts";
import { invalidRequest } from "../../api/http/problem.ts";
import { readQuery } from "../../api/http/query.ts";
import { toSeconds } from "../../core/time.ts";
import { hostOf, LISTEN_URL } from "../../core/url.ts";
import type { StoredEndpoint } from "../../objects/account/endpoint-store.ts";
import { may } from "../../objects/task/caller.ts";
import { SecretsPanel } from "../account/secrets.tsx";
import { PauseButton, PauseDialog, PauseNotice, type PauseProps } from "../host/pause-panel.tsx";
import { type FormFault, numberIn, withFaultsIn, withoutFaults } from "../http/forms.ts";
import { html, seeOther } from "../http/html-answer.ts";
import { formAction, type FormVisit, viewerPage, type ViewerVisit } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { DialogButton } from "../parts/dialog.tsx";
import { FormIssue, Select } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Confirmation } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { Outcome, SAMPLES } from "../send-test/send-test-page.tsx";
import {
  ENDPOINT_FIELDS,
  EndpointFields,
  endpointIn,
  typedEndpoint,
  withoutValues,
} from "./endpoint-fields.tsx";
import {
  deleteOf,
  listOf,
  type Place,
  putOf,
  readOf,
  rotateOf,
  secretsOf,
} from "./endpoint-operations.ts";
import { endpointPath, NEW_ENDPOINT } from "./endpoints-panel.tsx";
import { ScheduleDrawing } from "./schedule-drawing.tsx";

const [EDIT, TEST, DELETE] = ["edit", "test", "delete"] as const;
const Query = z.object({ done: z.optional(z.string()) });
/** Text that confirms a change after its form was sent, by the value of the query parameter `done`. */
const DONE: Readonly<Record<string, string>> = {
  stored: "Stored. It holds for tasks that are created from now on, or within a minute.",
  rotated: "There is a new secret. Callbacks have a signature of the previous one, too.",
};

type Visit = ViewerVisit<unknown>;
type Form = FormVisit<unknown>;

/** Results of the form that the viewer has just sent from the page. */
interface Sent {
  /** Why the form was refused. Absent when it was not. */
  readonly fault?: FormFault;
  /** Outcome of a test callback. Absent when none was sent. */
  readonly tested?: Tested;
}

/** The page of an endpoint of an account, and of the form for a new one. */
export const accountEndpointPage = viewerPage(
  "accountEndpointPage",
  "/accounts/{account}/endpoints/{endpoint}",
  "endpoints",
  (visit) => showEndpoint(ofAccount(visit), visit),
);

/** The page of an endpoint of the relay, and of the form for a new one. */
export const relayEndpointPage = viewerPage(
  "relayEndpointPage",
  "/endpoints/{endpoint}",
  "operate",
  (visit) => showEndpoint(ofRelay(visit), visit),
);

function ofAccount({
  params: { account, endpoint },
}: ViewerVisit<{ readonly account: string; readonly endpoint: string }>): Place {
  return { account, name: endpoint };
}

function ofRelay({ params: { endpoint } }: ViewerVisit<{ readonly endpoint: string }>): Place {
  return { account: null, name: endpoint };
}

async function showEndpoint(place: Place, visit: Visit, sent: Sent = {}): Promise<Response> {
  const { account } = place;
  const known = await knownOf(place, visit);
  const title = known === null ? "New endpoint" : place.name;
  const section = account === null ? "hosts" : "accounts";
  const state = { place, visit, sent };
  return html(
    <Layout title={title} frame={frameOf(visit)} section={section}>
      <PageHead title={title} sub={<Origin account={account} stored={known?.stored ?? null} />}>
        {known === null ? null : <Buttons {...state} known={known} />}
      </PageHead>
      <div class="stack">
        {known === null ? <NewEndpoint {...state} /> : <KnownEndpoint {...state} known={known} />}
      </div>
    </Layout>,
  );
}

/** A stored endpoint, with its own secrets and the state of its host. */
interface Known {
  readonly stored: StoredEndpoint;
  /** The endpoint's own secrets. Null when it has none, or when the viewer may not see them. */
  readonly secrets: EndpointSecrets | null;
  /** The host to which its callbacks go. Null when they go to listeners. */
  readonly host: HostState | null;
}

/** Reads the endpoint of a page. Null for the form of a new one. */
async function knownOf(place: Place, visit: Visit): Promise<Known | null> {
  if (place.name === NEW_ENDPOINT) {
    // There is no form for an account that does not exist, or that the viewer may not see.
    await listOf(place.account, visit);
    return null;
  }
  const stored = await readOf(place, visit);
  const [secrets, host] = await Promise.all([
    stored.secret === null ? null : secretsOf(place, visit),
    hostStateOf(place, stored.url, visit),
  ]);
  return { stored, secrets, host };
}

interface PageState {
  readonly place: Place;
  readonly visit: Visit;
  readonly sent: Sent;
}

type KnownState = PageState & { readonly known: Known };

function NewEndpoint({ place, visit, sent }: PageState) {
  return (
    <div class="columns">
      <EditForm place={place} stored={null} sent={sent} />
      <div class="stack side">
        <Panel title="Waits of the relay">
          <ScheduleDrawing waitsMs={visit.runtime.config.scheduleMs} />
        </Panel>
        <Panel title="Waits that day stands for">
          <ScheduleDrawing waitsMs={DAY_SCHEDULE_MS} />
        </Panel>
      </div>
    </div>
  );
}

function KnownEndpoint(state: KnownState) {
  const {
    place,
    visit,
    sent,
    known: { stored, host },
  } = state;
  const { scheduleMs } = stored;
  const { done = "" } = readQuery(Query, visit.url);
  return (
    <>
      <Confirmation done={done} texts={DONE} />
      {host === null ? null : (
        <PauseNotice {...host.pause} mayResume={host.mayPause} now={Date.now()} />
      )}
      {sent.tested === undefined ? null : <Outcome {...sent.tested} />}
      <Panel title="Waits" aside={scheduleMs === null ? "those of the relay" : undefined}>
        <ScheduleDrawing waitsMs={scheduleMs ?? visit.runtime.config.scheduleMs} />
      </Panel>
      <div class="columns">
        <EditForm place={place} stored={stored} sent={sent} />
        <div class="stack side">
          <TestPanel path={endpointPath(place.account, place.name)} sent={sent} />
          <Secrets {...state} />
        </div>
      </div>
    </>
  );
}

/** Says whose endpoint it is, with a link to all of them, and since when it is as it is. */
function Origin({ account, stored }: Pick<Place, "account"> & Pick<EditProps, "stored">) {
  return (
    <>
      {account === null ? (
        <a href="/endpoints">Endpoints of the relay</a>
      ) : (
        <>
          Endpoint of <a href={`/accounts/${account}`}>{account}</a>
        </>
      )}
      {stored === null ? null : (
        <>
          , created <Time at={stored.createdAt} />, changed <Time at={stored.changedAt} />
        </>
      )}
    </>
  );
}

function Buttons({ place: { account, name }, visit: { url }, known: { host } }: KnownState) {
  const path = endpointPath(account, name);
  return (
    <>
      {host === null || !host.mayPause ? null : (
        <>
          <a class="button" href={host.pause.path}>
            Host
          </a>
          {host.pause.until === null ? (
            <>
              <PauseButton />
              <PauseDialog {...host.pause} fault={null} />
            </>
          ) : null}
        </>
      )}
      <ApiDialog origin={url.origin} paths={[`/v1${path}`]} />
      <DialogButton opens={DELETE} class="button button-bad">
        Delete
      </DialogButton>
      <FormDialog
        id={DELETE}
        title={`Delete ${name}`}
        action={`${path}/delete`}
        send="Delete"
        isFinal
      >
        <p>
          New tasks can no longer name it, and its headers and its secret are gone. Tasks that have
          it keep their copy.
        </p>
      </FormDialog>
    </>
  );
}

/** The host of an endpoint, whether it is paused, and whether the viewer may pause it. */
interface HostState {
  readonly pause: PauseProps;
  readonly mayPause: boolean;
}

/** Returns the host of an endpoint. Null for an endpoint whose callbacks go to listeners. */
async function hostStateOf(
  { account, name }: Place,
  url: string,
  visit: Visit,
): Promise<HostState | null> {
  const host = hostOf(url);
  if (host === null || url === LISTEN_URL) return null;
  const until = (await pausedHosts(visit.env)).get(host);
  const pause = {
    host,
    path: `/hosts/${encodeURIComponent(host)}`,
    until: until === undefined ? null : toSeconds(until),
    returnTo: endpointPath(account, name),
  };
  return { pause, mayPause: may(visit.viewer, "operate") };
}

interface EditProps {
  readonly place: Place;
  /** The endpoint as it is stored; null for a new one. */
  readonly stored: StoredEndpoint | null;
  readonly sent: Sent;
}

function EditForm({ place: { account, name }, stored, sent: { fault } }: EditProps) {
  const state = fault?.form === EDIT ? fault : withoutFaults(EDIT, typedEndpoint(stored));
  return (
    <Panel title="Settings">
      <form method="post" action={endpointPath(account, name)} class="stack-s form endpoint-form">
        <EndpointFields
          state={state}
          stored={stored}
          owner={account === null ? "the relay" : "the account"}
        />
        <FormIssue fault={state} />
        <p class="buttons">
          <button type="submit" class="button button-main">
            Store
          </button>
        </p>
        {stored === null ? null : <p class="muted small">Tasks that exist keep what they have.</p>}
      </form>
    </Panel>
  );
}

function TestPanel({ path, sent }: { readonly path: string; readonly sent: Sent }) {
  const fault = sent.fault?.form === TEST ? sent.fault : null;
  return (
    <Panel title="Test">
      <form method="post" action={`${path}/test`} class="stack-s">
        <Select label="Result of the sample" name="status" options={SAMPLES} fault={fault} />
        <FormIssue fault={fault} />
        <p class="buttons">
          <button type="submit" class="button">
            Send a test
          </button>
        </p>
        <p class="muted small">
          One callback of a sample task to the endpoint as it is stored, signed and with its
          headers.
        </p>
      </form>
    </Panel>
  );
}

/** Section with the secret of the endpoint's own, or a sentence that says whose secret signs. */
function Secrets({ place: { account, name }, visit, known: { secrets, stored } }: KnownState) {
  if (secrets !== null) {
    return (
      <SecretsPanel
        action={`${endpointPath(account, name)}/rotate`}
        secrets={secrets}
        mayOrder={may(visit.viewer, "administer")}
      />
    );
  }
  return (
    <Panel title="Callback secrets">
      <p class="muted">
        {stored.secret !== null ? (
          `Signed with a secret of its own, no. ${stored.secret.generation}.`
        ) : account === null ? (
          "Signed with the secret of the relay."
        ) : (
          <>
            Signed with the secret of <a href={`/accounts/${account}`}>the account</a>.
          </>
        )}
      </p>
    </Panel>
  );
}

/** Stores an endpoint of an account as it was typed. */
export const storeAccountEndpoint = formAction(
  "storeAccountEndpoint",
  "/accounts/{account}/endpoints/{endpoint}",
  "endpoints",
  (visit) => store(ofAccount(visit), visit),
);

/** Stores an endpoint of the relay as it was typed. */
export const storeRelayEndpoint = formAction(
  "storeRelayEndpoint",
  "/endpoints/{endpoint}",
  "operate",
  (visit) => store(ofRelay(visit), visit),
);

async function store(place: Place, visit: Form): Promise<Response> {
  const { form } = visit;
  const isNew = place.name === NEW_ENDPOINT;
  const name = isNew ? (form.get("name") ?? "").trim() : place.name;
  return withFaultsIn(
    { id: EDIT, typed: withoutValues(form), fields: ENDPOINT_FIELDS, placed: ["headers"] },
    async () => {
      const named = { ...place, name };
      if (isNew) await requireFree(named, visit);
      await putOf(named, endpointIn(form), visit);
      return seeOther(`${endpointPath(place.account, name)}?done=stored`);
    },
    (fault) => showEndpoint(place, visit, { fault }),
  );
}

/**
 * Checks that the form for a new endpoint would not replace another one.
 * @throws Problem `invalid_request` when one has the name.
 */
async function requireFree(place: Place, visit: Visit): Promise<void> {
  const endpoints = await listOf(place.account, visit);
  if (!endpoints.some(({ name }) => name === place.name)) return;
  throw invalidRequest([{ path: "/name", message: "is the name of an endpoint already" }]);
}

/** Sends a test callback to an endpoint of an account, and shows its outcome. */
export const testAccountEndpoint = formAction(
  "testAccountEndpoint",
  "/accounts/{account}/endpoints/{endpoint}/test",
  "endpoints",
  (visit) => sendTest(ofAccount(visit), visit),
  { rateLimit: "LIMIT_TESTS" },
);

/** Sends a test callback to an endpoint of the relay, and shows its outcome. */
export const testRelayEndpoint = formAction(
  "testRelayEndpoint",
  "/endpoints/{endpoint}/test",
  "operate",
  (visit) => sendTest(ofRelay(visit), visit),
  { rateLimit: "LIMIT_TESTS" },
);

async function sendTest(place: Place, visit: Form): Promise<Response> {
  const { form, viewer } = visit;
  // An account could otherwise send a test to its own endpoint from the page of another account.
  const { name } = await readOf(place, visit);
  return withFaultsIn(
    { id: TEST, typed: form, fields: ["status"] },
    async () => {
      const body = { endpoint: name, account: place.account ?? "", status: form.get("status") };
      const tested = await testAsAccount.perform({ params: {}, body }, viewer, visit);
      return showEndpoint(place, visit, { tested });
    },
    (fault) => showEndpoint(place, visit, { fault }),
  );
}

/** Creates a new secret of an account's endpoint, unless another one was created after the form was shown. */
export const rotateAccountEndpoint = formAction(
  "rotateAccountEndpoint",
  "/accounts/{account}/endpoints/{endpoint}/rotate",
  "administer",
  (visit) => rotate(ofAccount(visit), visit),
);

/** Creates a new secret of an endpoint of the relay, unless another one was created after the form was shown. */
export const rotateRelayEndpoint = formAction(
  "rotateRelayEndpoint",
  "/endpoints/{endpoint}/rotate",
  "administer",
  (visit) => rotate(ofRelay(visit), visit),
);

async function rotate(place: Place, visit: Form): Promise<Response> {
  await rotateOf(place, { generation: numberIn(visit.form, "generation") }, visit);
  return seeOther(`${endpointPath(place.account, place.name)}?done=rotated`);
}

/** Deletes an endpoint of an account. */
export const deleteAccountEndpointForm = formAction(
  "deleteAccountEndpointForm",
  "/accounts/{account}/endpoints/{endpoint}/delete",
  "endpoints",
  async (visit) => {
    await deleteOf(ofAccount(visit), visit);
    return seeOther(`/accounts/${visit.params.account}?done=endpoint-deleted`);
  },
);

/** Deletes an endpoint of the relay. */
export const deleteRelayEndpointForm = formAction(
  "deleteRelayEndpointForm",
  "/endpoints/{endpoint}/delete",
  "operate",
  async (visit) => {
    await deleteOf(ofRelay(visit), visit);
    return seeOther("/endpoints?done=deleted");
  },
);

import { invalidRequest } from "../../api/http/problem.ts";
import type { formOfOffer } from "../../config/offers.ts";
import type { Runtime } from "../../config/runtime.ts";
import { parseJson } from "../../core/json.ts";
import { type FormFault, numberIn } from "../http/forms.ts";
import { Field, Select, TextField } from "../parts/field.tsx";

export type OfferForm = ReturnType<typeof formOfOffer>;

/** Fields whose value is JSON. */
export const JSON_FIELDS = ["limits", "price", "body", "try/body"];
/**
 * Names of the fields of the form of an offer, without that of its name; each is the place of its value in the request
 * of the API.
 */
export const OFFER_FIELDS = [
  "title",
  "description",
  "accounts",
  "rank",
  "connection",
  "path",
  "models",
  "key",
  "uploads",
  "price/credits",
  "tool",
  "try/account",
  "try/path",
  ...JSON_FIELDS,
];

interface OfferFieldsProps {
  readonly state: FormFault;
  readonly isNew: boolean;
  readonly config: Runtime["config"];
}

/** The fields of the form of an offer. */
export function OfferFields({ state, isNew, config }: OfferFieldsProps) {
  return (
    <>
      {isNew ? (
        <Field
          label="Name"
          name="name"
          fault={state}
          required
          maxlength={64}
          hint="At most 64 of a-z 0-9 -, which no other offer and no connection has. It cannot be changed."
        />
      ) : null}
      <Field label="Title" name="title" fault={state} maxlength={100} />
      <TextField
        label="Description"
        name="description"
        rows={2}
        fault={state}
        hint="Title and description are for the customers."
      />
      <TermFields state={state} config={config} />
      <RuleFields state={state} />
      <RareFields state={state} />
    </>
  );
}

type StateProps = Pick<OfferFieldsProps, "state">;

/** The fields of what is offered to whom, and of a fixed price. */
function TermFields({ state, config }: Omit<OfferFieldsProps, "isNew">) {
  const chosen = state.typed.get("connection") ?? "";
  const names = [...new Set([...config.connections.keys(), ...(chosen === "" ? [] : [chosen])])];
  return (
    <div class="pairs">
      <Select
        label="Connection"
        name="connection"
        options={names.map((name) => [name, name])}
        value={chosen}
        fault={state}
      />
      <Field
        label="Path"
        name="path"
        fault={state}
        hint="The upstream's own; empty for every path."
      />
      <Field label="Models" name="models" fault={state} required hint="With commas; * for any." />
      <Field
        label="For"
        name="accounts"
        fault={state}
        hint="Accounts or tag:NAME, with commas. Empty for all."
      />
      <Field
        label="Price in credits"
        name="price/credits"
        type="number"
        min={1}
        fault={state}
        hint="Empty, and nothing below: free."
      />
      <Field
        label="Rank"
        name="rank"
        type="number"
        min={0}
        fault={state}
        hint="Lower ones are compared first; 100 if empty."
      />
    </div>
  );
}

/** The fields of rules, which are JSON. */
function RuleFields({ state }: StateProps) {
  return (
    <>
      <TextField
        label="Price by usage"
        name="price"
        rows={2}
        fault={state}
        hint={
          <>
            Instead of a fixed price, like{" "}
            <code>{`{"hold": 80, "per": {"field": "duration", "units": 1, "credits": 12}}`}</code>
          </>
        }
      />
      <TextField
        label="Limits"
        name="limits"
        rows={4}
        fault={state}
        hint={
          <>
            Like <code>{`{"/duration": {"max": 10}, "/resolution": ["480p", "720p"]}`}</code>
          </>
        }
      />
    </>
  );
}

/** The fields that few offers need. */
function RareFields({ state }: StateProps) {
  return (
    <details class="details" open={hasDetails(state)}>
      <summary>Form for customers, keys and uploads</summary>
      <div class="stack-s">
        <TextField
          label="Body"
          name="body"
          rows={8}
          fault={state}
          hint="A JSON Schema of what customers may set. It becomes their form and the tool of agents. Needs a path, and one model without *."
        />
        <Field
          label="Tool"
          name="tool"
          fault={state}
          hint="Its name for agents; that of the offer if empty."
        />
        <Select
          label="Key at the upstream"
          name="key"
          options={[
            ["", "of the connection"],
            ["customer", "the customer's own"],
          ]}
          fault={state}
        />
        <Select
          label="Uploads of files"
          name="uploads"
          options={[
            ["", "refused"],
            ["true", "taken"],
          ]}
          fault={state}
        />
      </div>
    </details>
  );
}

/** Tells whether the rarely used fields have a value or a fault. */
function hasDetails({ typed, issues }: FormFault): boolean {
  return ["body", "tool", "key", "uploads"].some(
    (name) => (typed.get(name) ?? "") !== "" || issues.has(name),
  );
}

/** Returns the typed values with which the form shows an offer. */
export function typedOffer(offer: OfferForm): URLSearchParams {
  const { rank, connection, models, limits, uploads, body, tool, name } = offer;
  const { title, description, accounts, key, path } = offer;
  const texts = { title, description, accounts: accounts?.join(", "), key, path };
  return new URLSearchParams({
    ...Object.fromEntries(Object.entries(texts).map(([field, value]) => [field, value ?? ""])),
    rank: String(rank),
    connection,
    models: models.join(", "),
    limits: Object.keys(limits).length === 0 ? "" : indented(withoutNulls(limits)),
    ...typedPrice(offer),
    uploads: uploads ? "true" : "",
    body: body === null ? "" : indented(body),
    tool: tool === name ? "" : (tool ?? ""),
    "try/body": JSON.stringify({ model: models[0] ?? "" }),
  });
}

/** Returns the typed values of a price: credits, or a rule as JSON. */
function typedPrice({ price }: OfferForm) {
  if (price === null) return { "price/credits": "", price: "" };
  return price.credits === undefined || price.credits === null
    ? { "price/credits": "", price: JSON.stringify(price) }
    : { "price/credits": String(price.credits), price: "" };
}

function indented(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Returns limits without the members that have no meaning, which are null or `"optional": false`. */
function withoutNulls(limits: OfferForm["limits"]): object {
  const entries = Object.entries(limits).map(([pointer, { values, min, max, optional }]) => {
    const limit = {
      ...(values !== null && { values }),
      ...(min !== null && { min }),
      ...(max !== null && { max }),
      ...(optional && { optional }),
    };
    return [pointer, limit] as const;
  });
  return Object.fromEntries(entries);
}

/**
 * Returns the offer that was typed into the form, as the body of a request of the API, which checks it.
 * @throws Problem `invalid_request` when a text is not JSON.
 */
export function offerIn(form: URLSearchParams) {
  const credits = numberIn(form, "price/credits");
  const price = credits === "" ? jsonIn(form, "price") : { credits, ...priceRuleIn(form) };
  return {
    ...text(form, "title"),
    ...text(form, "description"),
    ...list(form, "accounts"),
    ...(form.get("rank") ? { rank: numberIn(form, "rank") } : {}),
    connection: form.get("connection") ?? "",
    ...text(form, "path"),
    models: listIn(form, "models"),
    ...given("limits", jsonIn(form, "limits")),
    ...given("price", price),
    ...text(form, "key"),
    ...(form.get("uploads") ? { uploads: true } : {}),
    ...given("body", jsonIn(form, "body")),
    ...text(form, "tool"),
  };
}

/** Returns the members of a price by usage that was typed beside a fixed one, so that the relay refuses both together. */
function priceRuleIn(form: URLSearchParams): object {
  const rule = jsonIn(form, "price");
  return typeof rule === "object" && rule !== null ? rule : {};
}

/** Returns the submission that is to be tried. @throws Problem `invalid_request` when its body is not JSON. */
export function trialIn(form: URLSearchParams) {
  const body = jsonIn(form, "try/body");
  const [account, path] = [textIn(form, "try/account"), textIn(form, "try/path")];
  return {
    ...(account !== "" && { account }),
    ...(path !== "" && { path }),
    ...given("body", body),
  };
}

function textIn(form: URLSearchParams, name: string): string {
  return (form.get(name) ?? "").replaceAll("\r\n", "\n").trim();
}

function text(form: URLSearchParams, name: string) {
  const value = textIn(form, name);
  return given(name, value === "" ? undefined : value);
}

function listIn(form: URLSearchParams, name: string): readonly string[] {
  return textIn(form, name)
    .split(/[\s,]+/)
    .filter((each) => each !== "");
}

function list(form: URLSearchParams, name: string) {
  const values = listIn(form, name);
  return given(name, values.length === 0 ? undefined : values);
}

function given(name: string, value: unknown) {
  return value === undefined ? {} : { [name]: value };
}

/** Returns the value of JSON that was typed into a field; undefined when the field is empty. */
function jsonIn(form: URLSearchParams, name: string): unknown {
  const typed = textIn(form, name);
  if (typed === "") return undefined;
  const value = parseJson(typed);
  if (value === undefined) throw invalidRequest([{ path: `/${name}`, message: "must be JSON" }]);
  return value;
}

import { OUTCOMES } from "../../core/record/outcome.ts";
import { REFUSAL_CLASSES } from "../../core/record/refusal.ts";
import { FAILURE_CATEGORIES } from "../../core/record/upstream.ts";
import { SECOND_MS } from "../../core/time.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Time } from "../parts/shown-time.tsx";
import { pathWith, RANGES, without } from "./task-parameters.ts";

/** Statuses of callbacks. For each, there is a link above the list of tasks that filters the list by this status. */
const CHIPS = ["failed", "retrying", "waiting"] as const;

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  callback: ["failed", "open", "sending", "retrying", "paused", "waiting", "delivered"],
  status: ["pending", "processing", "completed", "failed"],
  category: [...FAILURE_CATEGORIES, "unknown"],
  submission: ["queued", "sending", "accepted", "unknown", "refused"],
  refusal: REFUSAL_CLASSES,
  outputs: ["lost"],
  outcome: OUTCOMES,
  range: Object.keys(RANGES),
};

/** Filters that the form shows to all viewers: the name of the API's parameter, and the title for readers. */
const FIELDS: readonly (readonly [name: string, title: string])[] = [
  ["callback", "Callback"],
  ["status", "Status"],
  ["category", "Failure"],
  ["submission", "Submission"],
  ["outputs", "Outputs"],
  ["outcome", "Last outcome"],
  ["status_code", "Status code"],
  ["host", "Host"],
  ["model", "Model"],
  ["range", "Created within"],
];
const OPERATOR_FIELDS: readonly (readonly [name: string, title: string])[] = [
  ["account", "Account"],
  ["provider", "Provider"],
  ["job", "Upstream job"],
  ["refusal", "Refusal"],
];

/** Start and end of the time range of creation, which have no field of their own. */
const PERIOD: readonly (readonly [name: string, title: string])[] = [
  ["since", "Created since"],
  ["until", "Created until"],
];

/** Links above the list of tasks that filter it by the status of the callback. The key `f` selects failed callbacks. */
export function Chips({ search }: { readonly search: URLSearchParams }) {
  const rest = without(search, "cursor", "callback");
  const chosen = search.get("callback");
  return (
    <nav class="segments" aria-label="Callbacks">
      <span>Callback</span>
      {CHIPS.map((callback) => (
        <a
          href={pathWith("/tasks", rest, { callback })}
          aria-current={chosen === callback ? "true" : undefined}
          data-key={callback === "failed" ? "f" : undefined}
        >
          {callback[0]?.toUpperCase()}
          {callback.slice(1)}
        </a>
      ))}
      <a href={pathWith("/tasks", rest)} aria-current={chosen === null ? "true" : undefined}>
        All
      </a>
    </nav>
  );
}

interface FilterFormProps {
  readonly search: URLSearchParams;
  /** Message about each faulty filter, by the name of the filter. */
  readonly issues: ReadonlyMap<string, string>;
  readonly isOperator: boolean;
}

/**
 * The form with all filters of the list of tasks. Its fields have the names of the API's parameters. It is closed unless
 * a filter is faulty, because on a phone the open form would fill the screen.
 */
export function FilterForm({ search, issues, isOperator }: FilterFormProps) {
  const fields = isOperator ? [...FIELDS, ...OPERATOR_FIELDS] : FIELDS;
  return (
    <details class="details" open={issues.size > 0}>
      {issues.size > 0 ? <summary>Filters</summary> : <FilterSummary search={search} />}
      <form method="get" action="/tasks" class="filters">
        {fields.map(([name, title]) =>
          name === "range" && (search.has("since") || search.has("until")) ? (
            <Period search={search} issues={issues} />
          ) : (
            <Field
              name={name}
              title={title}
              value={search.get(name) ?? ""}
              issue={issues.get(name)}
            />
          ),
        )}
        <div class="buttons">
          <button type="submit" class="button button-main">
            Filter
          </button>
          <a class="button" href="/tasks">
            Reset
          </a>
        </div>
      </form>
    </details>
  );
}

/**
 * Heading of a form with filters that is closed, which names the filters that are set, e.g. "Filters: account acme,
 * status failed". They must be valid.
 */
export function FilterSummary({ search }: { readonly search: URLSearchParams }) {
  const set = [...FIELDS, ...OPERATOR_FIELDS, ...PERIOD].flatMap(([name, title]) => {
    const value = search.get(name)?.trim() ?? "";
    return value === "" ? [] : [{ name, title: title.toLowerCase(), value }];
  });
  return (
    <summary>
      Filters
      {set.map(({ name, title, value }, at) => (
        <>
          {at === 0 ? ": " : ", "}
          {title}{" "}
          {PERIOD.some(([each]) => each === name) ? timeOf(value) : <Hostile text={value} />}
        </>
      ))}
    </summary>
  );
}

/** Shows a time that a valid filter has in Unix seconds. */
function timeOf(seconds: string) {
  return <Time at={Number(seconds) * SECOND_MS} />;
}

/**
 * Text with the time range of creation that the URL of the page names, e.g. after a click on a bar of a chart. A start
 * or end that is not valid is shown as it was given.
 */
function Period({ search, issues }: Pick<FilterFormProps, "search" | "issues">) {
  return (
    <div class="field">
      <span>Created</span>
      <p class="state">
        {PERIOD.map(([name]) => {
          const value = search.get(name);
          return value === null ? null : (
            <span>
              {name} {issues.has(name) ? value : timeOf(value)}
              <input type="hidden" name={name} value={value} />
            </span>
          );
        })}
        <a href={pathWith("/tasks", without(search, "since", "until", "cursor"))}>Any time</a>
      </p>
    </div>
  );
}

interface FieldProps {
  readonly name: string;
  readonly title: string;
  readonly value: string;
  readonly issue: string | undefined;
}

function Field({ name, title, value, issue }: FieldProps) {
  const id = `filter-${name}`;
  const choices = CHOICES[name];
  const fault =
    issue === undefined
      ? {}
      : { "aria-invalid": "true" as const, "aria-describedby": `${id}-issue` };
  return (
    <div class="field">
      <label for={id}>{title}</label>
      {choices === undefined ? (
        <input id={id} name={name} value={value} autocomplete="off" spellcheck={false} {...fault} />
      ) : (
        <select id={id} name={name} {...fault}>
          <option value="">any</option>
          {choices.map((choice) => (
            <option value={choice} selected={choice === value}>
              {choice}
            </option>
          ))}
        </select>
      )}
      {issue === undefined ? null : (
        <p id={`${id}-issue`} class="field-error">
          {issue}
        </p>
      )}
    </div>
  );
}

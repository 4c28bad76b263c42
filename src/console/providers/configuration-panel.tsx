import type { readHealthDetails } from "../../api/health/details.ts";
import { countOf } from "../parts/format.ts";
import { Panel } from "../parts/page-head.tsx";

type Groups = Awaited<ReturnType<typeof readHealthDetails.perform>>["settings"];
type Settings = Groups[number][1];

interface ConfigurationProps {
  readonly groups: Groups;
  /** Names of the settings that differ from their default. */
  readonly changed: readonly string[];
  readonly bindings: readonly string[];
}

/**
 * Section with the configuration of the relay, in groups: the settings that differ from their default and, folded, all of
 * them. Each has the name and the unit of its environment variable.
 */
export function ConfigurationPanel({ groups, changed, bindings }: ConfigurationProps) {
  const differing = groups.map(
    ([title, settings]) =>
      [title, Object.entries(settings).filter((one) => isShown(one, changed))] as const,
  );
  const all = groups.map(([title, settings]) => [title, Object.entries(settings)] as const);
  const count = all.reduce((sum, [, settings]) => sum + settings.length, 0);
  return (
    <Panel
      id="configuration"
      title="Configuration"
      aside="What differs from the default, under the names and in the units of the variables"
    >
      <div class="stack-s">
        <Groups groups={differing} />
        <details class="details" id="all-settings">
          <summary>All {countOf(count, "setting")}</summary>
          <div class="stack-s">
            <Groups groups={all} />
            <section class="setting-group">
              <h3>Bindings</h3>
              <p>{bindings.join(", ")}</p>
            </section>
          </div>
        </details>
      </div>
    </Panel>
  );
}

/**
 * Tells whether a setting is shown without unfolding the others: when it differs from its default, or is the binding of a
 * rate limit that is missing.
 */
function isShown([name, value]: Entry, changed: readonly string[]): boolean {
  return changed.includes(name) || (name.startsWith("LIMIT_") && value === false);
}

type Entry = readonly [name: string, value: Settings[string]];

interface GroupsProps {
  readonly groups: readonly (readonly [title: string, settings: readonly Entry[]])[];
}

function Groups({ groups }: GroupsProps) {
  return groups.map(([title, settings]) =>
    settings.length === 0 ? null : (
      <section class="setting-group">
        <h3>{title}</h3>
        <dl class="fields columns-2">
          {settings.map(([name, value]) => (
            <div>
              <dt>
                <code>{name}</code>
              </dt>
              <dd>{valueText(value)}</dd>
            </div>
          ))}
        </dl>
      </section>
    ),
  );
}

function valueText(value: Settings[string]): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  return value === null || value === undefined || value === "" ? "–" : String(value);
}

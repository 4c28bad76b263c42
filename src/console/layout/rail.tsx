import { Icon, type IconName } from "../parts/icon.tsx";
import { Brand } from "./brand.tsx";

/** A part of the console to which the navigation leads. */
export type Section =
  | "overview"
  | "tasks"
  | "hosts"
  | "accounts"
  | "offers"
  | "providers"
  | "submit"
  | "test";

interface Entry {
  readonly section: Section;
  readonly title: string;
  readonly path: string;
  readonly icon: IconName;
  /** Keys that open this part of the console when pressed one after the other, e.g. `g t`. */
  readonly hotkey: string;
}

const OVERVIEW: Entry = {
  section: "overview",
  title: "Overview",
  path: "/",
  icon: "overview",
  hotkey: "g o",
};
const TASKS: Entry = {
  section: "tasks",
  title: "Tasks",
  path: "/tasks",
  icon: "tasks",
  hotkey: "g t",
};

const OPERATOR: readonly Entry[] = [
  OVERVIEW,
  TASKS,
  { section: "hosts", title: "Hosts", path: "/hosts", icon: "host", hotkey: "g h" },
  { section: "accounts", title: "Accounts", path: "/accounts", icon: "account", hotkey: "g a" },
  { section: "offers", title: "Offers", path: "/offers", icon: "offer", hotkey: "g f" },
  { section: "providers", title: "Providers", path: "/providers", icon: "provider", hotkey: "g p" },
];

/**
 * Returns the entries of the navigation. A viewer with an account's key gets the page of this account instead of the
 * list of accounts, a page with what it can submit instead of the offers of the relay, and a page for test callbacks
 * instead of the pages of hosts and of providers.
 * @param account account of the viewer; null for an operator.
 */
export function railEntries(account: string | null): readonly Entry[] {
  if (account === null) return OPERATOR;
  const path = `/accounts/${account}`;
  const own = {
    section: "accounts",
    title: "Account",
    path,
    icon: "account",
    hotkey: "g a",
  } as const;
  const submit = {
    section: "submit",
    title: "Submit",
    path: "/submit",
    icon: "offer",
    hotkey: "g u",
  } as const;
  const test = {
    section: "test",
    title: "Test",
    path: "/test",
    icon: "send",
    hotkey: "g s",
  } as const;
  return [OVERVIEW, TASKS, submit, own, test];
}

interface RailProps {
  readonly account: string | null;
  readonly section: Section | null;
}

/** The navigation: a column at the left of a wide page, or a bar at the bottom of a narrow page. */
export function Rail({ account, section }: RailProps) {
  return (
    <nav class="rail" aria-label="Console">
      <div class="rail-brand">
        <Brand />
      </div>
      <ul>
        {railEntries(account).map(({ title, path, icon, hotkey, ...entry }) => (
          <li>
            <a
              href={path}
              data-key={hotkey}
              aria-current={entry.section === section ? "page" : undefined}
            >
              <Icon name={icon} />
              {title}
            </a>
          </li>
        ))}
      </ul>
      <div class="rail-foot">
        {account === null ? (
          <>
            <FootLink path="/submit" icon="offer" title="Playground" />
            <FootLink path="/test" icon="send" title="Send a test" />
          </>
        ) : null}
        <FootLink path="/docs" icon="book" title="API reference" />
      </div>
    </nav>
  );
}

function FootLink(props: {
  readonly path: string;
  readonly icon: IconName;
  readonly title: string;
}) {
  return (
    <a href={props.path}>
      <Icon name={props.icon} />
      {props.title}
    </a>
  );
}

import type { Child, PropsWithChildren } from "hono/jsx";
import { Help } from "./help.tsx";
import { Rail, type Section } from "./rail.tsx";
import { Topbar } from "./topbar.tsx";
import type { KeyHolder } from "../../objects/task/caller.ts";
import type { Config } from "../../config/config.ts";

/**
 * Colours that a reader has chosen for the pages; null when the reader has chosen none, so that pages follow the
 * operating system.
 */
export type Theme = "light" | "dark" | null;

const THEME = /(?:^|;\s*)theme=(light|dark)(?:;|$)/;

/** Reads from the cookies of a request which colours its reader has chosen. */
export function themeOf({ headers }: Request): Theme {
  const chosen = THEME.exec(headers.get("Cookie") ?? "")?.[1];
  return chosen === "light" || chosen === "dark" ? chosen : null;
}

interface DocumentProps {
  readonly title: string;
  readonly theme: Theme;
  /** Name of whose page it is; that of the product when absent. */
  readonly owner?: string;
  /** Path of the icon of the page; that of the product when absent. */
  readonly icon?: string;
  /** Further elements in the head of the page. Scripts among them run before those that every page has. */
  readonly head?: Child;
}

/** The HTML document of every page. The files that it loads are in `public/assets`, which `npm run generate` makes. */
export function Document({
  title,
  theme,
  owner = "Task Relay",
  icon = "/assets/icon.svg",
  head,
  children,
}: PropsWithChildren<DocumentProps>) {
  const chosen = theme === null ? {} : { "data-theme": theme };
  return (
    <html lang="en" {...chosen}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover" />
        <title>
          {title} · {owner}
        </title>
        <link rel="icon" href={icon} />
        <link rel="stylesheet" href="/assets/console.css" />
        {head}
        <script src="/assets/idiomorph.js" defer />
        <script src="/assets/console.js" type="module" />
        <script src="/assets/lists.js" type="module" />
        <script src="/assets/refresh.js" type="module" />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        {children}
      </body>
    </html>
  );
}

/** Data, different for each reader, from which the parts around a page's content (navigation, top bar) are made. */
export interface Frame {
  readonly theme: Theme;
  /** Account of the reader; null for an operator. */
  readonly account: string | null;
  /**
   * Text next to the logout button: the name of the key with which the reader is logged in, and of the key's account,
   * if any.
   */
  readonly who: string;
  /** Messages on every page, e.g. that callbacks are paused. */
  readonly warnings: readonly string[];
  /** Messages on the overview alone, e.g. that the relay is set up for development. */
  readonly notes: readonly string[];
}

interface LayoutProps {
  readonly title: string;
  readonly frame: Frame;
  /** The part of the console to which the page belongs; null when it belongs to no part. */
  readonly section: Section | null;
  /**
   * True for a page that refreshes itself. Parts of such a page have the attribute `data-refresh`, which states after
   * how many seconds they are refreshed. False when absent.
   */
  readonly isLive?: boolean;
}

/** A page of the console for a reader who is logged in. */
export function Layout({
  title,
  frame,
  section,
  isLive = false,
  children,
}: PropsWithChildren<LayoutProps>) {
  const { warnings, notes } = frame;
  return (
    <Document title={title} theme={frame.theme}>
      <div class="frame has-rail">
        <Topbar who={frame.who} isLive={isLive} />
        <Rail account={frame.account} section={section} />
        <main id="main" class="main" tabindex={-1}>
          <Banner texts={section === "overview" ? [...warnings, ...notes] : warnings} />
          {children}
        </main>
      </div>
      <Help account={frame.account} />
      <output id="said" class="visually-hidden" />
    </Document>
  );
}

function Banner({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <ul class="banner tone-warn">
      {texts.map((text) => (
        <li>{text}</li>
      ))}
    </ul>
  );
}

interface Seen {
  readonly request: Request;
  readonly runtime: { readonly config: Config };
  readonly viewer: KeyHolder;
}

/**
 * Returns what the parts around a page's content show: the account or key of the viewer, the colours, and warnings for
 * operators.
 */
export function frameOf({ request, runtime, viewer }: Seen): Frame {
  const isAccount = viewer.kind === "account";
  return {
    theme: themeOf(request),
    account: isAccount ? viewer.id : null,
    who: isAccount ? `account ${viewer.id}, key ${viewer.key}` : `operator ${viewer.key}`,
    warnings: isAccount ? [] : warningsOf(runtime.config),
    notes: isAccount ? [] : notesOf(runtime.config),
  };
}

function warningsOf({ paused }: Config): readonly string[] {
  return paused ? ["Callbacks and polls wait, because PAUSED is on."] : [];
}

function notesOf({ allowLocalCallbacks }: Config): readonly string[] {
  return allowLocalCallbacks ? ["ALLOW_LOCAL_CALLBACKS is on, which is for development only."] : [];
}

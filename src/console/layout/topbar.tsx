import { DialogButton } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { Brand } from "./brand.tsx";
import { HELP } from "./help.tsx";

/** The bar at the top of every console page that needs a login, with the search box and buttons. */
export function Topbar({ who, isLive }: { readonly who: string; readonly isLive: boolean }) {
  return (
    <header class="topbar">
      <Brand />
      <SearchBox />
      <div class="topbar-end">
        {isLive ? <LiveButton /> : null}
        <ZoneButton class="wide-only" />
        <ThemeButton />
        <DialogButton
          opens={HELP}
          hotkey="?"
          label="Keyboard and help"
          class="button button-plain button-icon wide-only needs-script"
        >
          <Icon name="help" />
        </DialogButton>
        <ReaderMenu who={who} />
      </div>
    </header>
  );
}

/** The button that switches between local time and UTC. It works only with the script of the page. */
function ZoneButton(props: { readonly class: string }) {
  return (
    <button
      type="button"
      class={`button button-plain needs-script ${props.class}`}
      data-zone=""
      title="Switch between local time and UTC"
    >
      UTC
    </button>
  );
}

/** The button that switches between light and dark colours. It works only with the script of the page. */
export function ThemeButton() {
  return (
    <button
      type="button"
      class="button button-plain button-icon needs-script"
      data-theme-switch=""
      aria-label="Switch between light and dark"
      title="Switch between light and dark"
    >
      <Icon name="theme" />
    </button>
  );
}

function SearchBox() {
  return (
    <search class="search">
      <form action="/search" method="post">
        <Icon name="search" />
        <input
          type="search"
          name="q"
          aria-label="Find a task, host, account or model"
          placeholder="Task id, hook URL, host, account, model"
          autocomplete="off"
          spellcheck={false}
          data-key="/"
        />
        <kbd aria-hidden="true">/</kbd>
      </form>
    </search>
  );
}

/** The button of a page that refreshes itself. It pauses and resumes the refreshes. */
function LiveButton() {
  return (
    <button
      type="button"
      class="button button-plain live needs-script"
      data-live="Live"
      data-key="l"
      title="Stop and start refreshing"
    >
      Live
    </button>
  );
}

/** The reader's menu. On narrow pages it also has the links that wide pages show below the navigation. */
function ReaderMenu({ who }: { readonly who: string }) {
  return (
    <Menu label={`Logged in: ${who}`} icon="account">
      <p>
        Logged in with
        <br />
        <strong>{who}</strong>
      </p>
      <ZoneButton class="" />
      <a class="button narrow-only" href="/test">
        Send a test
      </a>
      <a class="button narrow-only" href="/docs">
        API reference
      </a>
      <form method="post" action="/logout">
        <button class="button" type="submit">
          Log out
        </button>
      </form>
    </Menu>
  );
}

import { CloseButton, Dialog } from "../parts/dialog.tsx";
import { railEntries } from "./rail.tsx";

/** Id of the dialog that lists the keyboard shortcuts. */
export const HELP = "help";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "Find a task, host, account or model"],
  ["j", "Next row"],
  ["k", "Previous row"],
  ["Enter", "Open the row"],
  ["x", "Select the row"],
  ["f", "Only failed callbacks"],
  ["r", "Send again"],
  ["[", "Previous task of the list shown last"],
  ["]", "Next task of that list"],
  ["c", "Copy the id of the row or the page"],
  ["l", "Stop and start refreshing"],
  ["?", "This help"],
];

/** The dialog that lists the keyboard shortcuts and can switch them off. */
export function Help({ account }: { readonly account: string | null }) {
  const places = railEntries(account).map(({ hotkey, title }) => [hotkey, title] as const);
  return (
    <Dialog id={HELP} title="Keyboard">
      <dl class="keys">
        {[...places, ...KEYS].map(([keys, meaning]) => (
          <>
            <dt>
              {keys.split(" ").map((key) => (
                <>
                  <kbd>{key}</kbd>{" "}
                </>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </>
        ))}
      </dl>
      <p class="help-switch">
        <label>
          <input type="checkbox" data-keys-switch="" checked /> Keys work while no field has the
          focus
        </label>
      </p>
      <div class="buttons">
        <CloseButton of={HELP}>Close</CloseButton>
      </div>
    </Dialog>
  );
}

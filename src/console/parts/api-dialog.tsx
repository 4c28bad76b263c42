import { Code } from "./code.tsx";
import { curl, WITH_KEY } from "../../lib/curl.ts";
import { CloseButton, Dialog, DialogButton } from "./dialog.tsx";
import { Icon } from "./icon.tsx";

const ID = "api";

interface ApiDialogProps {
  /** Origin of the relay. */
  readonly origin: string;
  /** Paths of API requests, with their queries, that return the data of the page. */
  readonly paths: readonly string[];
}

/** A button that opens a dialog with the API requests that return the data of the page. */
export function ApiDialog({ origin, paths }: ApiDialogProps) {
  const commands = paths.map((path) => curl("-gfsS", `${origin}${path}`, [WITH_KEY]));
  return (
    <>
      <DialogButton opens={ID} class="button needs-script">
        <Icon name="code" />
        API
      </DialogButton>
      <Dialog id={ID} title="The same from the API">
        <Code text={commands.join("\n\n")} what="the commands" />
        <div class="buttons">
          <a class="button button-plain" href="/docs">
            API reference
          </a>
          <CloseButton of={ID}>Close</CloseButton>
        </div>
      </Dialog>
    </>
  );
}

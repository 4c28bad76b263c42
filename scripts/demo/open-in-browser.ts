import { spawn } from "node:child_process";
import { platform } from "node:os";

/** Opens an address in the browser of this machine; does nothing where there is none. */
export function openInBrowser(url: string): void {
  const [command, ...args] =
    platform() === "win32"
      ? ["cmd", "/c", "start", "", url]
      : [platform() === "darwin" ? "open" : "xdg-open", url];
  if (command === undefined) return;
  spawn(command, args, { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}

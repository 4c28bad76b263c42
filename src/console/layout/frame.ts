import type { KeyHolder } from "../../objects/task/caller.ts";
import type { Config } from "../../config/config.ts";
import { type Frame, themeOf } from "./layout.tsx";

interface Seen {
  readonly request: Request;
  readonly runtime: { readonly config: Config };
  readonly viewer: KeyHolder;
}

/**
 * Returns what the frame of a page (the part around its content) shows: the account or key of the viewer, the theme,
 * and warnings for operators.
 */
export function frameOf({ request, runtime, viewer }: Seen): Frame {
  const isAccount = viewer.kind === "account";
  return {
    theme: themeOf(request),
    account: isAccount ? viewer.id : null,
    who: isAccount ? `account ${viewer.id}, key ${viewer.key}` : `operator ${viewer.key}`,
    warnings: isAccount ? [] : warningsOf(runtime.config),
  };
}

function warningsOf({ paused, allowLocalCallbacks, isIndexed }: Config): string[] {
  return [
    ...(paused ? ["Callbacks and polls wait, because PAUSED is on."] : []),
    ...(allowLocalCallbacks ? ["ALLOW_LOCAL_CALLBACKS is on, which is for development only."] : []),
    ...(isIndexed ? [] : ["No index is bound, so that tasks can be opened but not listed."]),
  ];
}

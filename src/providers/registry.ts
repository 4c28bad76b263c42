import { ark } from "./ark.ts";
import { kling } from "./kling.ts";
import { luma } from "./luma.ts";
import { minimax } from "./minimax.ts";
import { runway } from "./runway.ts";
import { fal } from "./fal.ts";
import { kie } from "./kie.ts";
import { openrouter } from "./openrouter.ts";
import { replicate } from "./replicate.ts";
import { vidu } from "./vidu.ts";
import { wavespeed } from "./wavespeed.ts";
import type { Provider } from "./provider.ts";

/** Every upstream that the relay knows, by name. */
export const PROVIDERS: ReadonlyMap<string, Provider> = new Map(
  [ark, replicate, fal, kling, minimax, vidu, luma, runway, kie, wavespeed, openrouter].map(
    (provider) => [provider.name, provider],
  ),
);

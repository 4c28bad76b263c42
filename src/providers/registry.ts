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
import { sandbox } from "./sandbox.ts";
import type { SimulatedProvider, UpstreamProvider } from "./provider.ts";

/** Every upstream service that the relay knows, by name. */
export const PROVIDERS: ReadonlyMap<string, UpstreamProvider> = new Map(
  [ark, replicate, fal, kling, minimax, vidu, luma, runway, kie, wavespeed, openrouter].map(
    (provider) => [provider.name, provider],
  ),
);

/** Every simulated provider. They are available only where `SANDBOX` is on. */
export const SIMULATED_PROVIDERS: readonly SimulatedProvider[] = [sandbox];

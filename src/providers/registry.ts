import { ark } from "./ark.ts";
import { dashscope } from "./dashscope.ts";
import { kling } from "./kling.ts";
import { luma } from "./luma.ts";
import { minimax } from "./minimax.ts";
import { runway } from "./runway.ts";
import { atlascloud } from "./atlascloud.ts";
import { bfl } from "./bfl.ts";
import { fal } from "./fal.ts";
import { kie } from "./kie.ts";
import { newapi } from "./newapi.ts";
import { openaiVideos } from "./openai-videos.ts";
import { openrouter } from "./openrouter.ts";
import { replicate } from "./replicate.ts";
import { vidu } from "./vidu.ts";
import { wavespeed } from "./wavespeed.ts";
import { xai } from "./xai.ts";
import { sandbox } from "./sandbox.ts";
import type { UpstreamProvider } from "./provider.ts";
import type { SimulatedProvider } from "./simulated-provider.ts";

/**
 * Adapters of all upstream services, by name of the provider. docs/adding-a-provider.md says how one is
 * added.
 */
export const PROVIDERS: ReadonlyMap<string, UpstreamProvider> = new Map(
  [
    ark,
    replicate,
    fal,
    kling,
    minimax,
    vidu,
    luma,
    runway,
    kie,
    wavespeed,
    openrouter,
    dashscope,
    xai,
    atlascloud,
    bfl,
    newapi,
    openaiVideos,
  ].map((provider) => [provider.name, provider]),
);

/** All simulated providers, which are available only where `SANDBOX` is on. */
export const SIMULATED_PROVIDERS: readonly SimulatedProvider[] = [sandbox];

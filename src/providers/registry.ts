import { ark } from "./ark/ark.ts";
import { dashscope } from "./dashscope/dashscope.ts";
import { kling } from "./kling/kling.ts";
import { luma } from "./luma/luma.ts";
import { minimax } from "./minimax/minimax.ts";
import { runway } from "./runway/runway.ts";
import { atlascloud } from "./atlascloud/atlascloud.ts";
import { bfl } from "./bfl/bfl.ts";
import { fal } from "./fal/fal.ts";
import { gemini } from "./gemini/gemini.ts";
import { higgsfield } from "./higgsfield/higgsfield.ts";
import { kie } from "./kie/kie.ts";
import { newapi } from "./newapi/newapi.ts";
import { openaiVideos } from "./openai-videos/openai-videos.ts";
import { openrouter } from "./openrouter/openrouter.ts";
import { replicate } from "./replicate/replicate.ts";
import { vidu } from "./vidu/vidu.ts";
import { wavespeed } from "./wavespeed/wavespeed.ts";
import { xai } from "./xai/xai.ts";
import { sandbox } from "./sandbox/sandbox.ts";
import type { Assurance, NamedProvider } from "./provider.ts";
import type { SimulatedProvider } from "./simulated-provider.ts";

/**
 * Adapters of all upstream services. `npm run providers:new -- NAME --code` writes all that a further adapter needs;
 * docs/adding-a-provider.md explains the files that it changes, and scripts/providers-new/edits.ts lists them.
 */
const ADAPTERS = [
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
  higgsfield,
  gemini,
  newapi,
  openaiVideos,
] as const satisfies readonly NamedProvider[];

/**
 * Name of a provider that signs its hooks. The tests must have an entry for each of these names, or they do not
 * compile.
 */
export type SigningProvider = Extract<
  (typeof ADAPTERS)[number],
  { readonly hooks: { readonly assurance: Exclude<Assurance, "capability-url"> } }
>["name"];

/** Adapters of all upstream services that the relay knows, by name of the provider. */
export const PROVIDERS: ReadonlyMap<string, NamedProvider> = new Map(
  ADAPTERS.map((provider): [string, NamedProvider] => [provider.name, provider]),
);

/** All simulated providers. Tasks can use them only when `SANDBOX` is on. */
export const SIMULATED_PROVIDERS: readonly SimulatedProvider[] = [sandbox];

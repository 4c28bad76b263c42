import { ark } from "./ark.ts";
import { dashscope } from "./dashscope.ts";
import { kling } from "./kling.ts";
import { luma } from "./luma.ts";
import { minimax } from "./minimax.ts";
import { runway } from "./runway.ts";
import { atlascloud } from "./atlascloud.ts";
import { bfl } from "./bfl.ts";
import { fal } from "./fal.ts";
import { gemini } from "./gemini.ts";
import { higgsfield } from "./higgsfield.ts";
import { kie } from "./kie.ts";
import { newapi } from "./newapi.ts";
import { openaiVideos } from "./openai-videos.ts";
import { openrouter } from "./openrouter.ts";
import { replicate } from "./replicate.ts";
import { vidu } from "./vidu.ts";
import { wavespeed } from "./wavespeed.ts";
import { xai } from "./xai.ts";
import { sandbox } from "./sandbox.ts";
import type { Assurance, NamedProvider } from "./provider.ts";
import type { SimulatedProvider } from "./simulated-provider.ts";

/** Adapters of all upstream services. docs/adding-a-provider.md says how to add one. */
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
 * Name of a provider that signs its hooks. The tests need an entry for each of these names; without it they do not
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

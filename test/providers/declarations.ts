import type { JsonObject } from "../../src/core/json.ts";
import comfyui from "../../src/providers/generic/upstreams/comfyui/comfyui.json" with { type: "json" };
import modal from "../../src/providers/generic/upstreams/modal/modal.json" with { type: "json" };
import openai from "../../src/providers/generic/upstreams/openai/openai.json" with { type: "json" };
import runninghub from "../../src/providers/generic/upstreams/runninghub/runninghub.json" with { type: "json" };
import runpod from "../../src/providers/generic/upstreams/runpod/runpod.json" with { type: "json" };
import runware from "../../src/providers/generic/upstreams/runware/runware.json" with { type: "json" };
import syncSo from "../../src/providers/generic/upstreams/sync-so/sync-so.json" with { type: "json" };
import together from "../../src/providers/generic/upstreams/together/together.json" with { type: "json" };

/**
 * Declarations of upstreams for which the relay has no adapter, by the name of the connection. `…` stands for the operator's
 * own values.
 */
export const DECLARATIONS = { runpod, runware, runninghub, together, "sync-so": syncSo };

/** Declarations of which there are no examples: of servers of one's own, and of an upstream without jobs. */
export const OWN_DECLARATIONS = { comfyui, modal, openai };

export type DeclaredName = keyof typeof DECLARATIONS;

/** Returns the value of `CONNECTIONS` with one of the declarations, with these members in place of its own. */
export function connectionsWith(name: DeclaredName, members: JsonObject): string {
  return JSON.stringify({ [name]: { ...DECLARATIONS[name], ...members } });
}

export function isDeclaredName(name: string): name is DeclaredName {
  return Object.hasOwn(DECLARATIONS, name);
}

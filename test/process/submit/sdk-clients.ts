import { createFalClient } from "@fal-ai/client";
import { GoogleGenAI } from "@google/genai";
import RunwayML from "@runwayml/sdk";
import { LumaAI } from "lumaai";
import OpenAI from "openai";
import Replicate from "replicate";

/** Where and for whom an SDK works. */
export interface SdkUser {
  /** Origin of the relay. */
  readonly relay: string;
  /** Key of the relay. */
  readonly key: string;
  /** Headers of all calls. */
  readonly headers: Readonly<Record<string, string>>;
}

export function replicateOf({ relay, key, headers }: SdkUser): Replicate {
  return new Replicate({
    auth: key,
    baseUrl: `${relay}/v1/submit/replicate/v1`,
    useFileOutput: false,
    fetch: (url, init) =>
      fetch(url, {
        ...init,
        headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers },
      }),
  });
}

export function falOf({ relay, key, headers }: SdkUser) {
  return createFalClient({
    credentials: key,
    requestMiddleware: async ({ url, ...request }) => ({
      ...request,
      url: url.replace(/^https:\/\/(queue\.fal\.run|rest\.fal\.ai)/, `${relay}/v1/submit/fal`),
      headers: { ...request.headers, ...headers },
    }),
  });
}

export function openaiOf({ relay, key, headers }: SdkUser, connection = "openai-videos"): OpenAI {
  const baseURL = `${relay}/v1/submit/${connection}/v1`;
  return new OpenAI({ apiKey: key, baseURL, defaultHeaders: headers, maxRetries: 0 });
}

export function runwayOf({ relay, key, headers }: SdkUser): RunwayML {
  const baseURL = `${relay}/v1/submit/runway`;
  return new RunwayML({ apiKey: key, baseURL, defaultHeaders: headers, maxRetries: 0 });
}

export function lumaOf({ relay, key, headers }: SdkUser): LumaAI {
  const baseURL = `${relay}/v1/submit/luma`;
  return new LumaAI({ authToken: key, baseURL, defaultHeaders: headers, maxRetries: 0 });
}

export function geminiOf({ relay, key, headers }: SdkUser): GoogleGenAI {
  return new GoogleGenAI({
    apiKey: key,
    httpOptions: { baseUrl: `${relay}/v1/submit/gemini`, headers },
  });
}

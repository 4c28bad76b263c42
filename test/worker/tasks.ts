import * as z from "zod";
import { call, type Message, post } from "./client.ts";
import { untilIdle } from "./objects.ts";

export const CALLBACK_URL = "https://client.example.net/callbacks";
export const VIDEO = "https://cdn.example.net/video.mp4";
export const Task = z.looseObject({ id: z.string(), status: z.string(), model: z.string() });

/** Registers a task with a callback URL, and returns its id. */
export async function register(fields: object = {}): Promise<string> {
  const id = crypto.randomUUID();
  const body = { id, model: "seedance", callback_url: CALLBACK_URL, ...fields };
  const response = await post("/v1/tasks", body);
  if (response.status !== 201) throw new Error(await response.text());
  return id;
}

export function aCompletion(id: string, fields: object = {}) {
  return { id, status: "completed" as const, output: { urls: [VIDEO] }, ...fields };
}

export function aFailure(id: string, fields: object = {}) {
  return { id, status: "failed", error: { code: "moderation", message: "Refused." }, ...fields };
}

export function report(event: object): Promise<Response> {
  return post("/v1/events", event);
}

/** Reports the end of a task and waits until the first attempt of its callback has ended. */
export async function finish(event: { readonly id: string }): Promise<void> {
  const response = await report(event);
  if (response.status !== 202) throw new Error(await response.text());
  await untilIdle(event.id);
}

/** Registers a task and completes it; returns its id when the first attempt of its callback has ended. */
export async function completed(fields: object = {}): Promise<string> {
  const id = await register(fields);
  await finish(aCompletion(id));
  return id;
}

export function cancel(id: string): Promise<Response> {
  return post(`/v1/tasks/${id}/cancel`, "");
}

export function redeliver(id: string, body: unknown = "", message: Message = {}) {
  return post(`/v1/tasks/${id}/redeliver`, body, message);
}

export function erase(id: string): Promise<Response> {
  return call(`/v1/tasks/${id}`, { method: "DELETE" });
}

export async function taskOf(response: Response): Promise<z.output<typeof Task>> {
  return Task.parse(await response.json());
}

export async function read(id: string): Promise<z.output<typeof Task>> {
  return taskOf(await call(`/v1/tasks/${id}`));
}

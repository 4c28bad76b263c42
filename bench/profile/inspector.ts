import { once } from "node:events";
import * as z from "zod";
import { Profile } from "./parts.ts";

const Targets = z.array(z.object({ webSocketDebuggerUrl: z.string() }));
const Message = z.object({ id: z.int().optional(), result: z.unknown().optional() });
const Stopped = z.object({ profile: Profile });
const SAMPLE_EVERY_US = 200;

/** Profiles the CPU time of a running workerd while `work` runs. @param port of its inspector. */
export async function profiled(port: number, work: () => Promise<unknown>): Promise<Profile> {
  const list = await fetch(`http://127.0.0.1:${port}/json`);
  const url = Targets.parse(await list.json())[0]?.webSocketDebuggerUrl;
  if (url === undefined) throw new Error("workerd has nothing to profile");
  const socket = new WebSocket(url);
  await once(socket, "open");
  const answers = new Map<number, (result: unknown) => void>();
  socket.addEventListener("message", ({ data }) => {
    // A message without an id is an event of the inspector.
    const { id = 0, result } = Message.parse(JSON.parse(String(data)));
    answers.get(id)?.(result);
  });
  let lastId = 0;
  const ask = (method: string, params: object = {}) =>
    new Promise<unknown>((resolve) => {
      answers.set(++lastId, resolve);
      socket.send(JSON.stringify({ id: lastId, method, params }));
    });
  await ask("Profiler.enable");
  await ask("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_US });
  await ask("Profiler.start");
  await work();
  const { profile } = Stopped.parse(await ask("Profiler.stop"));
  socket.close();
  return profile;
}

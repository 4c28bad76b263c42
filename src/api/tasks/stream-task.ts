import * as z from "zod/mini";
import { readingRoute, StatusToken } from "./reading-route.ts";

/** Sends the changes of a task as server-sent events. */
export const streamTask = readingRoute(
  { id: "streamTask", path: "/v1/tasks/{id}/events" },
  z.strictObject({ token: StatusToken }),
  async (reading) => {
    const { eventStream } = await import("./task-events.ts");
    return eventStream(reading);
  },
);

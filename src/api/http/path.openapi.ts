import { TASK_ID } from "../shapes/task-shape.openapi.ts";
import type { Parameter } from "./route.openapi.ts";

/** Descriptions of the parameters in paths, such as the task id, by name. */
export const PATH_PARAMETERS: Readonly<Record<string, Parameter>> = {
  id: {
    description: "Id of the task, a UUID of any version; upper and lower case mean the same.",
    example: TASK_ID,
  },
  number: { description: "Number of the attempt, from 1: `X-Attempt`.", example: "1" },
  output: {
    description: "Number of the output: its place in `output.urls`, from 1.",
    example: "1",
  },
  file: {
    description: "Token and extension, which only the relay can make. They prove the reader.",
    example: "1767830400_1767225600012_3q2-7w.mp4",
  },
  account: { description: "Id of the account: 1 to 64 of `A-Z a-z 0-9 _ -`.", example: "acme" },
  key: { description: "Id of the API key, as the list of keys has it.", example: "k_1" },
  host: {
    description: "Host of a `callback_url`; `*` for the hosts that an hour does not name.",
    example: "client.example.com",
  },
  provider: { description: "Name of the connection that the hook belongs to.", example: "fal" },
  offer: { description: "Name of the offer.", example: "video" },
  endpoint: { description: "Name of the endpoint: 1 to 40 of `a-z 0-9 -`.", example: "orders" },
  connection: { description: "Name of the connection to the upstream.", example: "ark" },
  path: {
    description:
      "The upstream's own path below the base URL of the connection, with its slashes; a query behind it is passed on.",
    example: "contents/generations/tasks",
  },
  name: { description: "Name of the offer: at most 64 of `a-z 0-9 -`.", example: "seedance" },
  version: { description: "Version of the offer, from the list of its versions.", example: "42" },
  token: {
    description: "Token of the hook URL, which only the relay can make. It proves the sender.",
    example: "3q2-7w",
  },
};

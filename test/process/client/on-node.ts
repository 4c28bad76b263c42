// Script that runs on Node, Deno and Bun, with its input in the environment.
import process from "node:process";
import { drive } from "./scenario.ts";

const input: Parameters<typeof drive>[0] = JSON.parse(process.env["SCENARIO"] ?? "");
console.log(JSON.stringify(await drive(input)));

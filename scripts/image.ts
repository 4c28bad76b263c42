// Writes the files from which the image of the relay is built. Run by `npm run image`, which builds the relay before.
import { join } from "node:path";
import { Refusal } from "./deploy/refusal.ts";
import { writeImageContext } from "./self-host/image.ts";

try {
  writeImageContext(join(import.meta.dirname, "../dist/image"));
  console.log("dist/image is written. Next: docker build -t task-relay dist/image");
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

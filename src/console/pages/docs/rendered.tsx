import openapi from "../../../../openapi.json" with { type: "json" };
import { ErrorsPage } from "./errors.tsx";
import { ORIGIN } from "./origin.ts";
import { ReferencePage } from "./reference.tsx";

/**
 * Renders the bodies of the documentation pages, by the names of their files in `src/console/docs`: `npm run docs`
 * writes them, because rendering takes a hundred times as long as sending. The Worker does not import this. The files
 * do not end in `.html`: wrangler would make modules of their own of them, and the bundle would not be one file.
 */
export async function renderedDocs(): Promise<Readonly<Record<string, string>>> {
  const reference = <ReferencePage document={openapi} origin={ORIGIN} />;
  const errors = <ErrorsPage />;
  return {
    "reference.htm": inLines((await reference).toString()),
    "errors.htm": inLines((await errors).toString()),
  };
}

/** Puts each section into a line of its own, so that changes of the file can be read and merged. */
function inLines(html: string): string {
  return `${html.replaceAll("</section>", "</section>\n")}\n`;
}

// Makes the files that are built from others and ignored by git; run by `npm run generate`, which npm and wrangler call
// before whatever needs the files. Only packages of Node are imported before it is known which others are installed.
import { join } from "node:path";
import { clientTypes, keptTypes } from "./generate/client-types.ts";
import { makeProducts } from "./generate/make-products.ts";
import { publicFiles } from "./generate/public-files.ts";

const PRODUCTS = [clientTypes, keptTypes, publicFiles];

const done = await makeProducts(PRODUCTS, join(import.meta.dirname, ".."));
if (done !== "") console.log(`generate: ${done}`);

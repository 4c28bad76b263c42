// Writes the secrets where there are none, and asks nothing. Used by `npm start`.
import { reportSecrets } from "./secrets-files.ts";

reportSecrets();

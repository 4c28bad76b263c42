import type { VariableDescription, VariableName } from "./description.ts";
import { OPERATOR_VARIABLES } from "./operators.ts";
import { PLACE_VARIABLES } from "./places.ts";
import { SECRETS } from "./secrets.ts";
import { TASK_VARIABLES } from "./tasks.ts";

/** The variables in the groups in which the documentation shows them. */
export const VARIABLE_GROUPS = {
  tasks: TASK_VARIABLES,
  addresses: PLACE_VARIABLES,
  operators: OPERATOR_VARIABLES,
  secrets: SECRETS,
};

/** The description of every variable, by its name. The type requires one for each variable. */
export const VARIABLE_DESCRIPTIONS: Readonly<Record<VariableName, VariableDescription>> = {
  ...TASK_VARIABLES,
  ...PLACE_VARIABLES,
  ...OPERATOR_VARIABLES,
  ...SECRETS,
};

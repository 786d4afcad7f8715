/** A task an operator can hand to a model; arguments are text, as MCP has it. */
export interface OperatorPrompt {
  name: string
  title: string
  description: string
  arguments: readonly { name: string; description: string; required: boolean }[]
  /** Tools it tells the model to use; without all of them the prompt is not offered. */
  tools: readonly string[]
  /** Text for the model. Values are at most `MAX_ARGUMENT_CHARS` long. */
  text: (values: Readonly<Record<string, string>>) => string
}

export const MAX_ARGUMENT_CHARS = 500

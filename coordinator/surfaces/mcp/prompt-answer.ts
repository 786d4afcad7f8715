import {
  type GetPromptResult,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import { MAX_ARGUMENT_CHARS, type OperatorPrompt } from './prompts/prompt.ts'

/** The prompt with its values in it; throws `invalid params` for one that is not there or is wrong. */
export const promptAnswer = (
  prompts: readonly OperatorPrompt[],
  name: string,
  values: Record<string, string> = {},
): GetPromptResult => {
  const prompt = prompts.find(each => each.name === name)
  if (prompt === undefined) throw createParamsError(`no prompt ${JSON.stringify(name)}`)
  const known = new Set(prompt.arguments.map(field => field.name))
  for (const [field, value] of Object.entries(values)) {
    if (!known.has(field))
      throw createParamsError(`${name} has no argument ${JSON.stringify(field)}`)
    if (value.length > MAX_ARGUMENT_CHARS)
      throw createParamsError(`${field} is longer than ${MAX_ARGUMENT_CHARS} characters`)
  }
  const missing = prompt.arguments.find(
    field => field.required && !Object.hasOwn(values, field.name),
  )
  if (missing !== undefined) throw createParamsError(`${missing.name} is missing`)
  return {
    description: prompt.description,
    messages: [{ role: 'user', content: { type: 'text', text: prompt.text(values) } }],
  }
}

const createParamsError = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message)

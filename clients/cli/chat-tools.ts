import { ShoalError } from '../../shared/errors.ts'
import { escapeHidden } from '../../shared/visible.ts'
import type { OpenSession } from './session.ts'

/** The list of two tools that reach all others. */
const ADDRESS = '/mcp/?toolsets=find'
const FIND_TOOLS = 'find-tools'
const CALL_TOOL = 'call-tool'
/** Longest result for the model; a longer one is cut, and says so. */
const MAX_RESULT_CHARS = 16_000

/** Call of a tool in the format of OpenAI. */
export interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

interface McpTool {
  name: string
  description: string
  inputSchema: object
}

interface McpResult {
  content?: { text?: string }[]
  structuredContent?: { tools?: { name: string; effect: string }[] }
}

/** Decides whether a call that may change something is made. */
export type ConfirmCall = (call: string) => Promise<boolean>

/** Tools of the coordinator for a model, with the rights of the person's key. */
export interface ChatTools {
  /** Definitions in the format of OpenAI. */
  definitions: readonly object[]
  /** Makes a call and returns the text for the model. Failures are texts too. */
  run(call: ToolCall, signal?: AbortSignal): Promise<string>
}

/**
 * Loads the tools of the coordinator. Calls that only read are made without a question; whether a
 * tool reads is what find-tools said of it, and never the result of another tool.
 */
export const openChatTools = async (
  session: Pick<OpenSession, 'api' | 'hint'>,
  confirm: ConfirmCall,
): Promise<ChatTools> => {
  const effects = new Map<string, string>()
  const { tools } = (await request(session, 'tools/list', {})) as { tools: McpTool[] }

  const runParsed = async (name: string, input: Input, signal?: AbortSignal): Promise<string> => {
    const isSearch = name === FIND_TOOLS
    const isRead = isSearch || effects.get(String(input.name)) === 'read'
    const shown = escapeHidden(describeCall(name, input))
    if (isRead) session.hint(`calls ${shown}`)
    else if (!(await confirm(shown))) return 'not called: the person declined this call'
    const call = { name, arguments: input }
    const result = (await request(session, 'tools/call', call, signal)) as McpResult
    if (isSearch)
      for (const found of result.structuredContent?.tools ?? [])
        effects.set(found.name, found.effect)
    return shorten(result.content?.map(({ text }) => text ?? '').join('\n') ?? '')
  }

  return {
    definitions: tools.map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: { name, description, parameters: inputSchema },
    })),
    run: async ({ function: { name, arguments: text } }, signal) => {
      // the coordinator would call any tool by its own name, without the question for `call-tool`
      if (name !== FIND_TOOLS && name !== CALL_TOOL)
        return `not called: there are only ${FIND_TOOLS} and ${CALL_TOOL}`
      const input = parseInput(text)
      if (input === undefined) return 'not called: the arguments are not a JSON object'
      try {
        return await runParsed(name, input, signal)
      } catch (error) {
        if (!(error instanceof ShoalError) || signal?.aborted === true) throw error
        return `${error.code}: ${error.message}`
      }
    },
  }
}

type Input = Record<string, unknown>

const parseInput = (text: string): Input | undefined => {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Input) : undefined
  } catch {
    return undefined
  }
}

/** `call-tool` shows what it calls: `cells-drain {"cell_id":"gpu-1"}`. */
const describeCall = (name: string, input: Input): string =>
  name === CALL_TOOL && typeof input.name === 'string'
    ? `${input.name} ${JSON.stringify(input.arguments ?? {})}`
    : `${name} ${JSON.stringify(input)}`

const shorten = (text: string): string =>
  text.length <= MAX_RESULT_CHARS
    ? text
    : `${text.slice(0, MAX_RESULT_CHARS).toWellFormed()}\n(cut: ${text.length} characters)`

const request = async (
  { api }: Pick<OpenSession, 'api'>,
  method: string,
  params: object,
  signal?: AbortSignal,
): Promise<unknown> => {
  const body = { jsonrpc: '2.0', id: 1, method, params }
  for await (const message of api.stream(ADDRESS, body, signal)) {
    const { result } = message as { result?: unknown }
    if (result !== undefined) return result
  }
  throw new ShoalError('internal', `the coordinator did not answer ${method}`)
}
